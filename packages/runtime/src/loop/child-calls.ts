import { decisionId, type RunId, type ToolCallState, toJson, type WaitingReason } from "@awaken/contract";
import { childOf } from "../commit/open-tickets.ts";
import { command } from "../phase/command.ts";
import type { StateReader } from "../state/snapshot.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { childResult, tellEnd } from "./run-agent.ts";
import type { RunContext } from "./run-context.ts";

const waitingCalls = (state: StateReader): readonly ToolCallState[] =>
  (state.get(toolCallStates)?.calls ?? []).filter(({ status }) => status === "suspended");

/** Runs that calls of this one wait for. */
export const openChildren = (state: StateReader): readonly RunId[] =>
  waitingCalls(state).flatMap(({ suspension }) => childOf(suspension) ?? []);

/** Why a run waits whose calls do: for people, as long as one of them can be decided. */
export function waitingReason(state: StateReader): WaitingReason {
  const calls = waitingCalls(state);
  return calls.length > 0 && calls.every(({ suspension }) => childOf(suspension) !== undefined) ? "child-run" : "suspended";
}

/** Calls whose children have come to their end go on with what became of them, as if it had been decided. */
export async function takeChildren(ctx: RunContext): Promise<void> {
  for (const call of waitingCalls(ctx.state.snapshot())) {
    const id = childOf(call.suspension);
    const end = id === undefined ? undefined : await ctx.children.find(id);
    if (end === undefined) continue;
    const decidedAt = ctx.clock.now();
    const decision = { action: "answer", result: toJson(childResult(end)), id: decisionId(`child:${id}`), decidedAt } as const;
    ctx.state.commit(
      command().update(toolCallStates, { type: "set", call: { ...call, status: "resuming", decision, updatedAt: decidedAt } }),
    );
    tellEnd(ctx, end);
  }
}

import type { RunId, ToolCallState, WaitingReason } from "@awaken/contract";
import { childOf } from "../commit/open-tickets.ts";
import type { StateReader } from "../state/snapshot.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import type { ChildEnd } from "./children.ts";
import type { RunContext } from "./run-context.ts";

export const waitingCalls = (state: StateReader): readonly ToolCallState[] =>
  (state.get(toolCallStates)?.calls ?? []).filter(({ status }) => status === "suspended");

/** Runs that calls of this one wait for. */
export const openChildren = (state: StateReader): readonly RunId[] =>
  waitingCalls(state).flatMap(({ suspension }) => childOf(suspension) ?? []);

/** Why a run waits whose calls do: for people, as long as one of them can be decided. */
export function waitingReason(state: StateReader): WaitingReason {
  const calls = waitingCalls(state);
  return calls.length > 0 && calls.every(({ suspension }) => childOf(suspension) !== undefined) ? "child-run" : "suspended";
}

/** A child that is over is told as such, once: when whoever called it has its result. */
export function tellEnd(ctx: RunContext, { child, ending }: ChildEnd): void {
  if (ending !== undefined) ctx.emit({ type: "child-end", ...child, ...ending });
}

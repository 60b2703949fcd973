import { decisionId, type Termination, toJson } from "@awaken/contract";
import { childOf } from "../../commit/tickets.ts";
import { command } from "../../phase/command.ts";
import { toolCallStates } from "../../state/tool-call-states.ts";
import { waitingCalls } from "../child-calls.ts";
import { tellEnd } from "../child-end.ts";
import { replayDecided } from "../decisions/replay-decided.ts";
import { childResult } from "../run-agent.ts";
import type { RunContext } from "../run-context.ts";
import { recoverStep } from "./recover-step.ts";

/** Calls whose children have come to their end go on with what became of them, as if it had been decided. */
async function takeChildren(ctx: RunContext): Promise<void> {
  for (const call of waitingCalls(ctx.state)) {
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

/** Those of the step that was cut off first, then decided ones. */
export async function finishCalls(ctx: RunContext): Promise<Termination | undefined> {
  const ended = await recoverStep(ctx);
  if (ended !== undefined) return ended;
  if (ctx.isContinuation && !ctx.signal.aborted) await takeChildren(ctx);
  return replayDecided(ctx);
}

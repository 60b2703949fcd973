import type { Termination } from "@awaken/contract";
import { command } from "../../phase/command.ts";
import { runLifecycle, terminationOf } from "../../state/run-lifecycle.ts";
import { toolCallStates } from "../../state/tool-call-states.ts";
import type { LiveCall } from "../live-call.ts";
import { interruptCall, listCalls } from "../odd-round.ts";
import type { RunContext } from "../run-context.ts";
import { holdCall } from "../suspended-calls.ts";
import { type RoundOutcome, runToolRound } from "../tool-round.ts";

/** States of calls of another message are those of a run that used the thread since, and is over. */
function dropOtherStates(ctx: RunContext): void {
  const calls = ctx.state.get(toolCallStates)?.calls ?? [];
  const own = calls.filter((call) => ctx.cutCalls.some((cut) => cut.messageId === call.messageId));
  if (own.length === calls.length) return;
  const change = command().update(toolCallStates, { type: "clear" });
  for (const call of own) change.update(toolCallStates, { type: "set", call });
  ctx.state.commit(change);
}

/**
 * Calls that may have had their effect are settled first and together, whatever the agent's mode is: they were under way. In sequence
 * nothing runs behind one that waits.
 */
async function finishCalls(ctx: RunContext): Promise<RoundOutcome> {
  const isUnknown = (live: LiveCall) => ctx.ledger?.unknownOf(live) !== undefined;
  const unknown = ctx.cutCalls.filter(isUnknown);
  const rest = ctx.cutCalls.filter((live) => !isUnknown(live));
  listCalls(ctx, ctx.cutCalls);
  const first = await runToolRound(ctx, unknown, "parallel");
  // The rest may last.
  if (unknown.length > 0 && rest.length > 0) await ctx.writer.write();
  if (first.type === "completed") return runToolRound(ctx, rest);
  const isStopped = first.type === "blocked" || ctx.active.plan.agent.toolExecution === "sequential";
  if (!isStopped) {
    const second = await runToolRound(ctx, rest);
    return second.type === "completed" ? first : second;
  }
  for (const live of rest) {
    if (first.type === "blocked") interruptCall(ctx, live);
    else holdCall(ctx, live);
  }
  return first;
}

/**
 * Brings a step to its end whose process died after the turn was on record: the calls that have no result get one, and none of them has
 * its effect twice. The step counts and its hooks run, as they would have; listeners hear of its calls as resumed ones.
 */
export async function recoverStep(ctx: RunContext): Promise<Termination | undefined> {
  if (ctx.cutCalls.length === 0) return undefined;
  dropOtherStates(ctx);
  const round = await finishCalls(ctx);
  ctx.state.commit(command().update(runLifecycle, { type: "step-completed", at: ctx.clock.now() }));
  await ctx.phases.run("stepEnd", { step: ctx.tally.steps });
  await ctx.writer.write();
  if (ctx.signal.aborted) return { type: "cancelled" };
  if (round.type === "blocked") return { type: "blocked", reason: round.reason };
  return terminationOf(ctx.state.get(runLifecycle));
}

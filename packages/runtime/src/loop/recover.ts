import type { Termination } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { runLifecycle, terminationOf } from "../state/run-lifecycle.ts";
import type { RunContext } from "./run-context.ts";
import { runToolRound } from "./tool-round.ts";

/**
 * Brings a step to its end whose process died after the turn was on record: the calls that have no result get one, and none of them has
 * its effect twice. The step counts and its hooks run, as they would have; listeners hear of its calls as resumed ones.
 */
export async function recoverStep(ctx: RunContext): Promise<Termination | undefined> {
  if (ctx.cutCalls.length === 0) return undefined;
  const round = await runToolRound(ctx, ctx.cutCalls);
  ctx.state.commit(command().update(runLifecycle, { type: "step-completed", at: ctx.clock.now() }));
  await ctx.phases.run("stepEnd", { step: ctx.tally.steps });
  await ctx.checkpoints.write();
  if (ctx.signal.aborted) return { type: "cancelled" };
  if (round.type === "blocked") return { type: "blocked", reason: round.reason };
  return terminationOf(ctx.state.snapshot().get(runLifecycle));
}

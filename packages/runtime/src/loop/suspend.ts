import type { Termination } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { readTasks } from "./await-tasks.ts";
import { crossBoundary } from "./boundary.ts";
import { waitingReason } from "./child-calls.ts";
import { replayDecided } from "./decisions/replay-decided.ts";
import { takeEarly } from "./decisions/take-early.ts";
import { hasNext, hasSuspended } from "./open-calls.ts";
import type { RunContext } from "./run-context.ts";

/**
 * Some call waits for a decision. Those that were decided meanwhile go on; when none is left, the run ends here as suspended and is
 * resumed from its records.
 */
export async function suspend(ctx: RunContext): Promise<Termination | undefined> {
  if (ctx.state.get(runLifecycle)?.status !== "waiting") {
    ctx.state.commit(command().update(runLifecycle, { type: "set-waiting", reason: waitingReason(ctx.state), at: ctx.clock.now() }));
  }
  for (;;) {
    if (ctx.signal.aborted) return { type: "cancelled" };
    if (ctx.desk.early.length > 0) await takeEarly(ctx);
    if (hasNext(ctx)) {
      const ended = await replayDecided(ctx);
      if (ended !== undefined) return ended;
    } else if (!hasSuspended(ctx)) break;
    else if (ctx.desk.taking !== undefined) await ctx.desk.taking;
    else if (ctx.landing.holding?.looking !== undefined) await ctx.landing.holding.looking;
    else {
      // The last look and the closing are one: a decision is followed here, or it finds the record.
      ctx.desk.isClosed = true;
      return { type: "suspended" };
    }
  }
  ctx.state.commit(command().update(runLifecycle, { type: "set-running", at: ctx.clock.now() }));
  // The step is over with its calls: what was said behind the tickets is read with their results, and what became of tasks.
  await (ctx.tasks.hasAny ? readTasks(ctx, false) : crossBoundary(ctx, "next-step"));
  return undefined;
}

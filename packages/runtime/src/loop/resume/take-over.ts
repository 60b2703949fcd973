import { openChildren } from "../child-calls.ts";
import { takeSeededDecisions } from "../decisions/take-decisions.ts";
import type { OpenRunRecord } from "../end-news.ts";
import type { RunContext } from "../run-context.ts";
import { isSuperseding } from "../supersede.ts";
import { closeLeft } from "./close-left.ts";
import type { LoadedThread } from "./load-thread.ts";
import { type OpenedRun, type TakeUp, takeUp } from "./resume.ts";

/** Stages 3 and 4: there is a run before it, or what one has left. */
export async function takeOver(taking: TakeUp, loaded: LoadedThread, opened: OpenedRun): Promise<RunContext> {
  const { ctx, activation } = opened;
  const { children, state, tasks, landing } = ctx;
  // Runs that it waits for, or abandons, and tasks of its thread: it does not begin where it could not read, or end, them.
  if (openChildren(state).length > 0 || landing.holding?.isAbandoning) await children.ready();
  if (tasks.hasAny) await tasks.ready();
  const left = leftBehind(loaded, opened);
  if (left !== undefined) {
    await closeLeft({ left, plan: activation.plan, asked: taking, ...taking });
    return takeUp({ ...taking, order: { ...taking.order, found: undefined } });
  }
  const { resumed } = loaded;
  if (resumed !== undefined) {
    taking.adopt(resumed.runId);
    // Of a call that is abandoned and waited for several the state knew one.
    const hasAbandoned = isSuperseding(activation) && ctx.tally.usageBelow !== undefined;
    if (hasAbandoned) await landing.holding?.abandonBelow?.(ctx.identity.runId);
    // With its decisions, in one write: of two who take it up only one gets past this.
    await takeSeededDecisions(ctx, activation);
    await ctx.writer.write();
  }
  return ctx;
}

/**
 * A run that was cut off, or waits for news alone, is over when another one begins; one whose calls wait only when a user message leaves it
 * nothing to wait for.
 */
function leftBehind({ left }: LoadedThread, { activation }: OpenedRun): OpenRunRecord | undefined {
  const hasCalls = left?.status === "waiting" && left.waiting.reason !== "awaiting-tasks";
  return hasCalls && !isSuperseding(activation) ? undefined : left;
}

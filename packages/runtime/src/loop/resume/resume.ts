import { errorMessage, type RunId, type Termination } from "@awaken/contract";
import type { Reading } from "../../state/decode-value.ts";
import { type Door, type Late, whenThere } from "../../stream/door.ts";
import type { Activation, RunHandles } from "../activation.ts";
import { openChildren } from "../child-calls.ts";
import { hasOpenCalls } from "../open-calls.ts";
import { openRun } from "../open-run.ts";
import type { RunContext } from "../run-context.ts";
import type { RunPlan } from "../run-plan.ts";
import type { RunRecords } from "../run-records.ts";
import { type Asked, activate, openLanding } from "./activate.ts";
import { type LoadedThread, loadThread, type ThreadRoom } from "./load-thread.ts";

/*
 * How a run goes on, after a decision, a cut or a new message. A new run goes the same way and finds less; where there is no run before it, stages
 * 3 and 4, which `take-over.ts` has, are not even loaded:
 *
 *   1. loaded      `loadThread`           the record of the run, its thread, and the step that was cut off, shown whole again
 *   2. opened      `activate`, `openRun`  what was asked over what is stored; calls that a new message abandons are superseded
 *   3. others left `closeLeft`            a run that this one leaves behind is ended first, and everything is loaded again
 *   4. taken up    `takeOver`             decisions are checked, and on record before anything comes of them
 *   5. calls ended `finishOpenCalls`      the loop's first work: calls of the cut step, then decided ones, then those held behind them
 *   6.             `runFrom`              steps, as in any run
 */

/** What is loaded for threads on which something is open. */
export interface ResumeRoom extends ThreadRoom {
  endingPlan(agentId: string): RunPlan;
  takeOver(taking: TakeUp, loaded: LoadedThread, opened: OpenedRun): Promise<RunContext>;
}

/** What a run is taken up with. */
export interface TakeUp extends Asked {
  readonly records: RunRecords;
  readonly resolve: (agentId: string) => RunPlan;
  /** Rejects when what is asked cannot be had of where the plan executes. Undefined when there is nothing to look at. */
  readonly check: (plan: RunPlan) => Promise<void> | undefined;
  /** For a thread that is with no agent yet. */
  readonly defaultAgent: string;
  /** Undefined when what the agent needs is there. */
  readonly ready: (agentId: string) => Promise<void> | undefined;
  readonly handles: RunHandles;
  readonly seldom: Door<ResumeRoom>;
  /** The claim turns out to be for a run that exists. */
  readonly adopt: (run: RunId) => void;
}

export interface OpenedRun {
  readonly activation: Activation;
  readonly ctx: RunContext;
}

/** Stages 1 to 4, at once where nothing has to be read or waited for. What throws here leaves the run as it was on record. */
export function takeUp(taking: TakeUp): Late<RunContext> {
  return whenThere(loadThread(taking.records, taking.order, taking.defaultAgent, taking.seldom), (loaded) =>
    whenThere(taking.ready(loaded.actingAgentId), () => {
      const opened = open(taking, loaded);
      return whenThere(taking.check(opened.activation.plan), () =>
        hasBegunBefore(loaded, opened) ? whenThere(taking.seldom.open(), (room) => room.takeOver(taking, loaded, opened)) : opened.ctx,
      );
    }),
  );
}

/** Whether there is a run before it, or what one has left. */
function hasBegunBefore({ left, resumed }: LoadedThread, { ctx: { landing, state, tasks } }: OpenedRun): boolean {
  return (
    resumed !== undefined || left !== undefined || tasks.hasAny || landing.holding?.isAbandoning === true || openChildren(state).length > 0
  );
}

/** Stage 5. Gives the termination when a gate or a hook ends the run on the way. Undefined when no call is open. */
export function finishOpenCalls(ctx: RunContext): Promise<Termination | undefined> | undefined {
  const isOpen = ctx.isContinuation || ctx.cutCalls.length > 0 || hasOpenCalls(ctx);
  return isOpen ? Promise.resolve(ctx.seldom.open()).then(({ finishCalls }) => finishCalls(ctx)) : undefined;
}

/** With the plan of its agent. A run that is only to be ended needs none: without one it is ended from its records, and no hook runs. */
function open(taking: TakeUp, loaded: LoadedThread): OpenedRun {
  const { order, handles, records, runId } = taking;
  const { actingAgentId } = loaded;
  const openWith = (plan: RunPlan, reading: Reading): OpenedRun => {
    const activation = activate(taking, loaded, plan, reading);
    const landing = openLanding({ records, clock: handles.clock }, activation, order, loaded);
    return {
      activation,
      ctx: openRun(activation, handles, { landing, ledger: loaded.openLedger?.(activation.identity.runId, handles.scopeId) }),
    };
  };
  try {
    return openWith(taking.resolve(actingAgentId), "as-key-says");
  } catch (thrown) {
    if (order.isEnding === undefined) throw thrown;
    handles.log.warn(`run '${runId}' is ended without the hooks of its agent: ${errorMessage(thrown)}`, { runId });
    // Whoever named the run that is to be ended has loaded it.
    return openWith(taking.seldom.here.endingPlan(actingAgentId), "lenient");
  }
}

import { errorMessage, messageId } from "@awaken/contract";
import { openRun } from "../loop/open-run.ts";
import { NO_QUEUE } from "../loop/pending-port.ts";
import type { RunContext } from "../loop/run-context.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import type { Resolution } from "../resolve/resolver.ts";
import { Listeners } from "../stream/listeners.ts";
import { Queue } from "../stream/queue.ts";
import { activate } from "./activate.ts";
import type { ActiveRun } from "./active-runs.ts";
import { closeRun } from "./close-run.ts";
import { type LeftRun, type LoadedThread, loadThread } from "./load-thread.ts";
import type { RunParts } from "./run-parts.ts";
import { type RunOrder, resumeOrder } from "./run-request.ts";

/** What a run is ended for: another one that begins. */
export interface Leaving {
  readonly left: LeftRun;
  readonly resolution: Resolution;
  /** Of the run that begins. */
  readonly plan: RunPlan;
}

/** Ends a run that the new one leaves behind, with whatever its tools can tell about calls that were under way. */
export async function closeLeft(parts: RunParts, run: ActiveRun, order: RunOrder, leaving: Leaving): Promise<void> {
  const { left } = leaving;
  const loaded = await loadThread(parts.records, resumeOrder(left, []), leaving.plan.agent.id);
  const by = order.input.find((message) => message.role === "user")?.id ?? order.input[0]?.id ?? messageId(run.runId);
  await closeRun(parts, left, { loaded, ctx: openLeft(parts, run, leaving, loaded), by });
}

/** The run as it would be resumed, only to ask its tools: nothing of it is heard or written. Undefined when it cannot be opened any more. */
function openLeft(parts: RunParts, run: ActiveRun, { left, resolution, plan }: Leaving, loaded: LoadedThread): RunContext | undefined {
  try {
    const activation = activate(parts, run, resumeOrder(left, []), loaded, ownPlan(resolution, loaded) ?? plan);
    return openRun(
      { ...activation, reading: "lenient" },
      {
        signal: run.controller.signal,
        clock: parts.clock,
        ids: parts.ids,
        log: parts.log,
        listeners: new Listeners(),
        inbox: new Queue(),
        decisions: new Queue(),
        boundary: NO_QUEUE,
        checkpoints: undefined,
        profileStore: parts.profiles,
        replan: async (agentId) => resolution.resolve(agentId),
      },
    );
  } catch (thrown) {
    parts.log.warn(`run ${left.runId} was left behind and its tools cannot be asked: ${errorMessage(thrown)}`, { runId: left.runId });
    return undefined;
  }
}

/** Undefined when its agent is gone: the tools of the one that comes may know. */
function ownPlan(resolution: Resolution, { actingAgentId }: LoadedThread): RunPlan | undefined {
  try {
    return resolution.resolve(actingAgentId);
  } catch {
    return undefined;
  }
}

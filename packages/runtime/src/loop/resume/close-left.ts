import { errorMessage, messageId, runIdentity } from "@awaken/contract";
import { Landing } from "../../commit/land.ts";
import { Bounds, DEFAULT_LIMITS } from "../../stream/bounds.ts";
import type { Door } from "../../stream/door.ts";
import { Listeners } from "../../stream/listeners.ts";
import { Queue } from "../../stream/queue.ts";
import type { RunHandles } from "../activation.ts";
import type { OpenRunRecord } from "../end-news.ts";
import { openRun } from "../open-run.ts";
import { resumeOrder } from "../resume-order.ts";
import type { RunContext } from "../run-context.ts";
import type { RunPlan } from "../run-plan.ts";
import type { RunRecords } from "../run-records.ts";
import { type Asked, activate } from "./activate.ts";
import { closeRun } from "./close-run.ts";
import { type LoadedThread, loadThread, type ThreadRoom } from "./load-thread.ts";

/** What a run is ended for: another one that begins. */
export interface Leaving {
  readonly left: OpenRunRecord;
  readonly resolve: (agentId: string) => RunPlan;
  /** Of the run that begins. */
  readonly plan: RunPlan;
  /** Of the run that begins. */
  readonly asked: Asked;
  readonly records: RunRecords;
  readonly handles: RunHandles;
  readonly seldom: Door<ThreadRoom>;
}

/** Ends a run that the new one leaves behind, with whatever its tools can tell about calls that were under way. */
export async function closeLeft(leaving: Leaving): Promise<void> {
  const { left, asked, records, handles } = leaving;
  const { input } = asked.order;
  const { scopeId, ids, clock } = handles;
  const { holding } = asked.order;
  const loaded = await loadThread(records, resumeOrder(left, []), leaving.plan.agent.id, leaving.seldom);
  // The run that begins knows those that calls wait for; of a step that was cut off, and of calls that wait for something else or for several, the records do.
  const hasBegun = left.status === "running" || left.usageBelow !== undefined || holding?.isAbandoning === true;
  if (hasBegun) await holding?.abandonBelow?.(left.runId);
  const by = input.find((message) => message.role === "user")?.id ?? input[0]?.id ?? messageId(asked.runId);
  const landing = new Landing({
    store: records,
    identity: runIdentity(left),
    activation: left.activation,
    input: [],
    resumed: left,
    messageCount: loaded.history.messageCount,
    latestAt: loaded.latestAt,
    clock,
    holding,
  });
  await closeRun({ scopeId, ids, clock }, left, { loaded, landing, ctx: openLeft(leaving, loaded, landing), by });
}

/** The run as it would be resumed, only to ask its tools: nothing of it is heard or written. Undefined when it cannot be opened any more. */
function openLeft({ left, plan, asked, resolve, handles }: Leaving, loaded: LoadedThread, landing: Landing): RunContext | undefined {
  const { streams: _none, ...live } = handles;
  const { signal, clock, cancelGraceMs } = handles;
  // Those of the run that begins are for what that one waits for.
  const bounds = new Bounds(signal, { clock, limits: DEFAULT_LIMITS, cancelGraceMs });
  try {
    const activation = activate({ ...asked, order: resumeOrder(left, []) }, loaded, ownPlan(resolve, loaded) ?? plan, "lenient");
    return openRun(activation, { ...live, bounds, listeners: new Listeners(), inbox: new Queue() }, { landing });
  } catch (thrown) {
    handles.log.warn(`run ${left.runId} was left behind and its tools cannot be asked: ${errorMessage(thrown)}`, { runId: left.runId });
    return undefined;
  }
}

/** Undefined when its agent is gone: the tools of the one that comes may know. */
function ownPlan(resolve: Leaving["resolve"], { actingAgentId }: LoadedThread): RunPlan | undefined {
  try {
    return resolve(actingAgentId);
  } catch {
    return undefined;
  }
}

import { consoleLog, DEFAULT_SCOPE, errorMessage, type ScopeId, type ThreadId } from "@awaken/contract";
import { TaskTable } from "./builtin/background/task-table.ts";
import type { MessageSink } from "./loop/message-sink.ts";
import type { NodeIdentity } from "./mailbox/node.ts";
import type { PluginsToOpen } from "./plugin/plugins-to-open.ts";
import type { Resolver } from "./resolve/resolver.ts";
import { type ActiveRun, ActiveRuns } from "./run/active-runs.ts";
import { LiveOutputs } from "./run/live-outputs.ts";
import { moreRoom } from "./run/more-door.ts";
import type { RunParts, TenantParts } from "./run/run-parts.ts";
import type { RuntimeInit } from "./runtime-init.ts";
import type { FindPlace } from "./runtime-memory.ts";
import { more } from "./runtime-more.ts";
import { Bounds, toLimits } from "./stream/bounds.ts";
import { systemClock } from "./stream/clock.ts";
import { uuidIds } from "./stream/ids.ts";
import { inTime } from "./stream/in-time.ts";
import { SilenceWatch } from "./stream/silence-watch.ts";

const CANCEL_GRACE_MS = 30_000;
const MAX_DEPTH = 8;
/** After the grace: for the store to take the ends of the runs. */
const CLOSE_MS = 30_000;

const MAX_TASKS = 64;

/** Background work of all tenants. */
function openTasks(init: RuntimeInit, closing: AbortSignal, node: NodeIdentity): TaskTable {
  const { clock = systemClock, log = consoleLog, maxRunningTasks: maxRunning = MAX_TASKS } = init;
  return new TaskTable({ clock, log, maxRunning, host: node.name, isGone: (name) => node.isGone(name), closing });
}

/** Never rejects. */
async function wake(parts: RunParts, threadId: ThreadId): Promise<void> {
  try {
    await (await moreRoom.open()).wakeThread(parts, threadId);
  } catch (thrown) {
    parts.log.error(`a run could not be woken: ${errorMessage(thrown)}`, { threadId });
  }
}

/** What all tenants share, and what it is made of. */
export interface RuntimeBase extends Omit<TenantParts, "scopeId" | "all"> {
  readonly init: RuntimeInit;
  readonly node: NodeIdentity;
  readonly maxDelegationDepth: number;
  readonly outputs: LiveOutputs;
  readonly tasks: TaskTable;
  /** Of the runtime. */
  readonly bounds: Bounds;
}

export function openBase(init: RuntimeInit, resolver: Resolver, node: NodeIdentity, closing: AbortSignal): RuntimeBase {
  const { ids = uuidIds, clock = systemClock, log = consoleLog, cancelGraceMs = CANCEL_GRACE_MS, maxDelegationDepth = MAX_DEPTH } = init;
  const limits = toLimits(init.limits);
  return {
    ...{ init, resolver, node, closing, ids, clock, log, cancelGraceMs, maxDelegationDepth, limits, more },
    active: new ActiveRuns(),
    outputs: new LiveOutputs(),
    tasks: openTasks(init, closing, node),
    silence: new SilenceWatch(clock),
    bounds: new Bounds(closing, { clock, limits, cancelGraceMs }),
  };
}

function itself(this: RunParts): RunParts {
  return this;
}

/** The parts of each tenant, with its records. */
export function partsIn(base: RuntimeBase, placeOf: FindPlace): (scopeId: ScopeId) => RunParts {
  const { init, resolver, closing, ids, clock, log, cancelGraceMs, maxDelegationDepth, limits, silence } = base;
  const shared = { resolver, clock, ids, log, cancelGraceMs, maxDelegationDepth, limits, silence, closing, more, all: itself };
  function scoped(scopeId: ScopeId): RunParts {
    const { profiles, live, follow, queue, recordsWithin, streamsWithin } = placeOf(scopeId);
    const ofRuntime = () => boundTo(base.bounds);
    // Without a queue the run that waits for news is taken up in this process.
    const here = { keep: undefined, wake: (threadId: ThreadId) => void wake(ofRuntime(), threadId) };
    const sinkHere: MessageSink = async (request) => (await moreRoom.open()).deliverHere(ofRuntime(), request);
    const own = {
      ...shared,
      ...{ scopeId, profiles, live, follow, scoped },
      holds: queue?.holds,
      active: base.active.scoped(scopeId),
      outputs: base.outputs.scoped(scopeId),
      tasks: base.tasks.scoped(scopeId, queue?.post ?? here),
      messages: {
        sink: init.messageSink ?? queue?.sink ?? sinkHere,
        delivery: init.messageDelivery ?? (init.store === undefined ? "direct" : "outbox"),
      },
    } as const;
    const boundTo = (bounds: Bounds): RunParts => ({
      ...own,
      records: recordsWithin(bounds),
      streams: streamsWithin(bounds),
      bounds,
      boundTo,
    });
    return ofRuntime();
  }
  return scoped;
}

const nameOf = ({ scopeId, runId }: ActiveRun): string => (scopeId === DEFAULT_SCOPE ? runId : `${runId} of tenant ${scopeId}`);

/**
 * Whatever a run of whatever tenant does not end for, the runtime is closed: what is left behind of it reaches nobody. A plugin that does not
 * close is left behind, too.
 */
export async function closeParts(base: RuntimeBase, plugins: PluginsToOpen): Promise<void> {
  const { active, log, cancelGraceMs, tasks } = base;
  tasks.close();
  const runs = active.all();
  for (const run of runs) run.cancel("the runtime was closed");
  await inTime(base, Promise.all(runs.map((run) => run.released)), cancelGraceMs + CLOSE_MS);
  if (!(await inTime(base, plugins.close(), CLOSE_MS))) log.error("the runtime was closed, but not all of its plugins");
  const left = active.all();
  if (left.length > 0) log.error(`the runtime was closed, but these runs did not end: ${left.map(nameOf).join(", ")}`);
}

import { AwakenError, consoleLog, DEFAULT_SCOPE, errorMessage, type RunId, type ScopeId, type ThreadId } from "@awaken/contract";
import type { MessagePort } from "./builtin/background/open-tasks.ts";
import { TaskTable } from "./builtin/background/task-table.ts";
import type { TaskPost } from "./builtin/background/thread-tasks.ts";
import type { MessageSink } from "./loop/message-sink.ts";
import type { NodeIdentity } from "./mailbox/node.ts";
import type { PluginsToOpen } from "./plugin/plugins-to-open.ts";
import type { RelayStore } from "./relay/relay-store.ts";
import { Relays } from "./relay/relays.ts";
import type { Resolver } from "./resolve/resolver.ts";
import { type ActiveRun, ActiveRuns } from "./run/active-runs.ts";
import { boundRecords, boundStreams } from "./run/bound-records.ts";
import type { Holds } from "./run/holds.ts";
import { LiveOutputs } from "./run/live-outputs.ts";
import { moreRoom } from "./run/more-door.ts";
import type { FollowLeft, RunParts } from "./run/run-parts.ts";
import type { RuntimeStore } from "./run/runtime-store.ts";
import type { RuntimeInit } from "./runtime-init.ts";
import type { RuntimeMailbox } from "./runtime-mailbox.ts";
import type { FindPlace } from "./runtime-memory.ts";
import { more } from "./runtime-more.ts";
import { Bounds, toLimits } from "./stream/bounds.ts";
import { systemClock } from "./stream/clock.ts";
import { uuidIds } from "./stream/ids.ts";
import { SilenceWatch } from "./stream/silence-watch.ts";

const CANCEL_GRACE_MS = 30_000;
const MAX_DEPTH = 8;
/** After the grace: for the store to take the ends of the runs. */
const CLOSE_MS = 30_000;

function placesIn(store: RuntimeStore, keepsStreams: boolean): FindPlace {
  return (scopeId) => {
    const own = scopeId === DEFAULT_SCOPE ? store : store.scoped(scopeId);
    const streams = keepsStreams ? own.streamCheckpoints : undefined;
    return {
      profiles: () => own.profiles,
      live: own.live,
      recordsWithin: (bounds) => boundRecords(own, bounds),
      streamsWithin: (bounds) => (streams === undefined ? undefined : boundStreams(streams, bounds)),
    };
  };
}

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

/** How news reach a thread on which no run is at work here: by the queue, or else the run that waits for them is taken up in this process. */
function taskPost(holds: Holds | undefined, parts: () => RunParts): TaskPost {
  if (holds === undefined) return { keep: undefined, wake: (threadId) => void wake(parts(), threadId) };
  return {
    keep: async (threadId, event, task) => {
      await holds.post(threadId, event, task);
    },
    wake: () => {},
  };
}

/** What the host gave, else the queue, else this process. */
function messagePort({ messageSink, messageDelivery, store }: RuntimeInit, holds: Holds | undefined, parts: () => RunParts): MessagePort {
  const own: MessageSink =
    holds === undefined ? async (request) => (await moreRoom.open()).deliverHere(parts(), request) : (request) => holds.message(request);
  return { sink: messageSink ?? own, delivery: messageDelivery ?? (store === undefined ? "direct" : "outbox") };
}

type InMemory = (now: () => number) => FindPlace;

function withoutStore(inMemory: InMemory | undefined): InMemory {
  if (inMemory === undefined) throw new AwakenError("internal", "this runtime is made for a store");
  return inMemory;
}

/** What the parts of all tenants share besides the options. */
export interface PartsInit {
  readonly resolver: Resolver;
  readonly closing: AbortSignal;
  readonly node: NodeIdentity;
  readonly mailbox: RuntimeMailbox | undefined;
  readonly followIn: (scopeId: ScopeId) => FollowLeft;
  /** Where records are without a store. */
  readonly inMemory?: InMemory | undefined;
}

/** The parts of the default tenant, from which those of all others are made. */
export function openParts(init: RuntimeInit, { resolver, closing, node, mailbox, followIn, inMemory }: PartsInit): RunParts {
  const { ids = uuidIds, clock = systemClock, log = consoleLog, store, cancelGraceMs = CANCEL_GRACE_MS } = init;
  const limits = toLimits(init.limits);
  const placeOf = store === undefined ? withoutStore(inMemory)(() => clock.now()) : placesIn(store, init.streamCheckpoints === true);
  const active = new ActiveRuns();
  const outputs = new LiveOutputs();
  const tasks = openTasks(init, closing, node);
  const ofRuntime = new Bounds(closing, { clock, limits, cancelGraceMs });
  const { maxDelegationDepth = MAX_DEPTH } = init;
  const silence = new SilenceWatch(clock);
  const shared = { resolver, clock, ids, log, cancelGraceMs, maxDelegationDepth, limits, silence, closing, more };
  function scoped(scopeId: ScopeId): RunParts {
    const place = placeOf(scopeId);
    const holds = mailbox?.holdsOf(scopeId);
    const post = taskPost(holds, () => boundTo(ofRuntime));
    const own = {
      ...shared,
      scopeId,
      holds,
      follow: followIn(scopeId),
      profiles: place.profiles,
      live: place.live,
      active: active.scoped(scopeId),
      outputs: outputs.scoped(scopeId),
      tasks: tasks.scoped(scopeId, post),
      messages: messagePort(init, holds, () => boundTo(ofRuntime)),
      scoped,
    };
    const boundTo = (bounds: Bounds): RunParts => ({
      ...own,
      records: place.recordsWithin(bounds),
      streams: place.streamsWithin(bounds),
      bounds,
      boundTo,
    });
    return boundTo(ofRuntime);
  }
  return scoped(DEFAULT_SCOPE);
}

/** Each tenant's runs, for whoever follows them. */
export function openRelays({ store }: RuntimeInit, { active, clock, ids, bounds, closing, scoped }: RunParts): Relays {
  const storeOf = (scopeId: ScopeId): RelayStore | undefined => {
    const own = scopeId === DEFAULT_SCOPE ? store : store?.scoped(scopeId);
    if (own?.events === undefined) return undefined;
    const { events, messages, runs, threads, live } = own;
    const queuedOn = async (id: RunId) => {
      const unbegun = await scoped(scopeId).holds?.unbegun(id);
      return unbegun?.type === "queued" ? unbegun.threadId : undefined;
    };
    return { events, messages, runs, threads, live, queuedOn };
  };
  const expectIn = (scopeId: ScopeId) => {
    const { holds } = scoped(scopeId);
    return (threadId: ThreadId) => holds?.expectWithin({ threadId, isQueued: false });
  };
  return new Relays({ storeOf, active, bounds, clock, ids, closing, expectIn });
}

const nameOf = ({ scopeId, runId }: ActiveRun): string => (scopeId === DEFAULT_SCOPE ? runId : `${runId} of tenant ${scopeId}`);

/** A plugin that does not close is left behind. */
async function closePlugins(plugins: PluginsToOpen, { clock, log }: RunParts): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopTimer = clock.timer(CLOSE_MS, () => {
    log.error("the runtime was closed, but not all of its plugins");
    resolve();
  });
  void plugins.close().then(resolve);
  await promise;
  stopTimer();
}

/** Whatever a run of whatever tenant does not end for, the runtime is closed: what is left behind of it reaches nobody. */
export async function closeParts(parts: RunParts, plugins: PluginsToOpen): Promise<void> {
  const { active, log, clock, cancelGraceMs, tasks } = parts;
  tasks.table.close();
  const runs = active.all();
  for (const run of runs) run.cancel("the runtime was closed");
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopTimer = clock.timer(cancelGraceMs + CLOSE_MS, resolve);
  void Promise.all(runs.map((run) => run.released)).then(() => resolve());
  await promise;
  stopTimer();
  await closePlugins(plugins, parts);
  const left = active.all();
  if (left.length > 0) log.error(`the runtime was closed, but these runs did not end: ${left.map(nameOf).join(", ")}`);
}

import { DEFAULT_SCOPE, type ScopeId, scopeId as toScopeId } from "@awaken/contract";
import type { QueueStore, Retention, ScopedHint, ScopedQueueStore } from "@awaken/contract/store";
import { Parcels } from "../parcels.ts";
import { type PortMakers, portsOf } from "../ports.ts";
import { Broadcast } from "./broadcast.ts";
import { commitPort } from "./commit.ts";
import { Tags } from "./event-log.ts";
import { Gate, type Runner } from "./gate.ts";
import {
  lateCheckpoints,
  lateConfig,
  lateDispatches,
  lateEvents,
  lateMessages,
  latePending,
  lateProfiles,
  lateRuns,
  lateThreads,
  lateWishes,
  type Room,
  seldom,
} from "./late-ports.ts";
import { lateQueue, type Queue } from "./late-queue.ts";
import { ledgerPort } from "./ledger.ts";
import { livePort } from "./live.ts";
import { runReads } from "./runs.ts";
import { type Access, type ScopedConfigKey, Tenants } from "./tables.ts";
import { threadReads } from "./threads.ts";

const MAKERS: PortMakers<Access> = {
  threads: (access) => ({ ...lateThreads(access), ...threadReads(access) }),
  messages: lateMessages,
  runs: (access) => ({ ...lateRuns(access), ...runReads(access) }),
  pending: latePending,
  events: lateEvents,
  dispatches: lateDispatches,
  streamCheckpoints: lateCheckpoints,
  ledger: ledgerPort,
  wishes: lateWishes,
  profiles: lateProfiles,
  config: lateConfig,
  commit: commitPort,
};

export interface MemoryStoreOptions {
  /** Unix milliseconds; `Date.now` when left out. */
  readonly clock?: () => number;
  /** Unique ids for events, cursors and claim tokens; when left out they are a random UUID and a number. */
  readonly ids?: () => string;
}

/** A random UUID for each id is 1.5 % of a short run: what a store of one process makes is unique by its number. */
function numbered(): () => string {
  const store = crypto.randomUUID();
  let made = 0;
  return () => {
    made += 1;
    return `${store}.${made}`;
  };
}

/** A store that lives as long as the process. It needs no Node API, so it also runs in a browser. */
export function memoryStore(options: MemoryStoreOptions = {}): QueueStore {
  const { clock = Date.now, ids = numbered() } = options;
  const hints = new Broadcast<ScopedHint>();
  const configChanges = new Broadcast<ScopedConfigKey>();
  const shared = { clock, ids, tags: new Tags(ids()), hints, parcels: new Parcels(), configChanges };
  const tenants = new Tenants(shared);
  const gate = new Gate();

  function scoped(id: ScopeId): ScopedQueueStore {
    const scopeId = toScopeId(id);
    const portsIn = (runner: Runner) => portsOf(MAKERS, tenants.accessTo(scopeId, runner));
    const transaction: ScopedQueueStore["transaction"] = (work) => gate.transaction((inside) => work(portsIn(inside)));
    return { scopeId, live: livePort(scopeId, tenants, shared), ...portsIn(gate), transaction };
  }

  /** In its place in the line, whenever the part is there. */
  const late = <T>(work: (room: Room, inside: Runner) => Promise<T>) =>
    gate.transaction(async (inside) => work(await seldom.open(), inside));
  let queue: Queue | undefined;
  const askQueue = <T>(work: (queue: Queue) => Promise<T>): Promise<T> =>
    queue === undefined
      ? late(({ dispatchQueue }, inside) => {
          const queueOn = (runner: Runner) => dispatchQueue(runner, () => tenants.all(), clock);
          queue = queueOn(gate);
          return work(queueOn(inside));
        })
      : work(queue);
  const sweep = (retention: Retention) => {
    const asked = { ...retention };
    return late(({ sweepAll }, inside) => inside.write(() => sweepAll(tenants, asked, clock())));
  };
  const stats = () => late(({ statsOf }, inside) => inside.read(() => statsOf(tenants.all())));
  const close = () => gate.close();
  return {
    ...scoped(DEFAULT_SCOPE),
    scoped,
    queue: lateQueue(askQueue, ({ signal }) => hints.listen([signal, gate.closing])),
    sweep,
    stats,
    close,
    [Symbol.asyncDispose]: close,
  };
}

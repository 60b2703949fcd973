import { DEFAULT_SCOPE, type ScopeId, scopeId as toScopeId } from "@awaken/contract";
import type { QueueStore, ScopedHint, ScopedQueueStore, SweepResult } from "@awaken/contract/store";
import { Parcels } from "../parcels.ts";
import { type PortMakers, portsOf } from "../ports.ts";
import { Broadcast } from "./broadcast.ts";
import { commitPort } from "./commit.ts";
import { configPort } from "./config-records.ts";
import { dispatchQueue } from "./dispatch-queue.ts";
import { dispatchPort } from "./dispatches.ts";
import { HeadLists } from "./event-batch.ts";
import { Tags } from "./event-log.ts";
import { eventPort } from "./events.ts";
import { Gate } from "./gate.ts";
import { ledgerPort } from "./ledger.ts";
import { livePort } from "./live.ts";
import { messagePort } from "./messages.ts";
import { pendingPort } from "./pending.ts";
import { profilePort } from "./profiles.ts";
import { runPort } from "./runs.ts";
import { statsOf } from "./stats.ts";
import { streamCheckpointPort } from "./stream-checkpoints.ts";
import { sweepTables } from "./sweep.ts";
import { type Access, accessTo, createTables, type Shared, type Tables } from "./tables.ts";
import { threadPort } from "./threads.ts";
import { wishPort } from "./wishes.ts";

const MAKERS: PortMakers<Access> = {
  threads: threadPort,
  messages: messagePort,
  runs: runPort,
  pending: pendingPort,
  events: eventPort,
  dispatches: dispatchPort,
  streamCheckpoints: streamCheckpointPort,
  ledger: ledgerPort,
  wishes: wishPort,
  profiles: profilePort,
  config: configPort,
  commit: commitPort,
};

export interface MemoryStoreOptions {
  /** Unix milliseconds; `Date.now` when left out. */
  readonly clock?: () => number;
  /** Unique ids for events, cursors and claim tokens; random UUIDs when left out. */
  readonly ids?: () => string;
}

/** A store that lives as long as the process. It needs no Node API, so it also runs in a browser. */
export function memoryStore(options: MemoryStoreOptions = {}): QueueStore {
  const { clock = Date.now, ids = () => crypto.randomUUID() } = options;
  const hints = new Broadcast<ScopedHint>();
  const shared: Shared = { clock, ids, tags: new Tags(ids()), heads: new HeadLists(), hints, parcels: new Parcels() };
  const gate = new Gate();
  const tenants = new Map<ScopeId, Tables>();

  function scoped(scopeId: ScopeId): ScopedQueueStore {
    const tables = tenants.get(scopeId) ?? createTables(toScopeId(scopeId), shared);
    tenants.set(scopeId, tables);
    return {
      scopeId,
      live: livePort(tables),
      ...portsOf(MAKERS, accessTo(tables, gate)),
      transaction: (work) => gate.transaction((inside) => work(portsOf(MAKERS, accessTo(tables, inside)))),
    };
  }

  const close = () => gate.close();
  return {
    ...scoped(DEFAULT_SCOPE),
    scoped,
    queue: dispatchQueue(gate, () => tenants.values(), hints, clock),
    sweep: (retention) => gate.write(() => sum([...tenants.values()].map((tables) => sweepTables(tables, retention, clock())))),
    stats: () => gate.read(() => statsOf([...tenants.values()])),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function sum(results: readonly SweepResult[]): SweepResult {
  const total = (key: keyof SweepResult) => results.reduce((count, result) => count + result[key], 0);
  return {
    events: total("events"),
    dispatches: total("dispatches"),
    streamCheckpoints: total("streamCheckpoints"),
    ledger: total("ledger"),
    wishes: total("wishes"),
    outbound: total("outbound"),
  };
}

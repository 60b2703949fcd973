import type { ScopeId } from "../ids.ts";
import type { RunStatus } from "../statuses.ts";
import type { CommitThread } from "./commit.ts";
import type { ConfigStore } from "./config-records.ts";
import type { DispatchStatus } from "./dispatch-record.ts";
import type { DispatchQueue, DispatchStore } from "./dispatches.ts";
import type { EventStore } from "./events.ts";
import type { LedgerStore } from "./ledger.ts";
import type { LiveStore } from "./live.ts";
import type { MessageStore } from "./messages.ts";
import type { PendingStore } from "./pending.ts";
import type { ProfileStore } from "./profiles.ts";
import type { RunStore } from "./runs.ts";
import type { StreamCheckpointStore } from "./stream-checkpoints.ts";
import type { ThreadStore } from "./threads.ts";
import type { WishStore } from "./wishes.ts";

/**
 * What a store offers of one tenant. Ids of two tenants never meet: no method reads, lists, counts or changes anything of another one.
 * Records are checked on write (`storage_validation`) and on read (`storage_corrupt`, `storage_too_new`), they come back as they were
 * written, and changing a returned object changes nothing that is stored. A store stamps times with the clock that it was opened with.
 * When the engine itself fails: `storage_io`, and nothing was written; `commit_unknown` when that cannot be known.
 */
export interface StorePorts {
  readonly threads: ThreadStore;
  readonly messages: MessageStore;
  readonly runs: RunStore;
  readonly events: EventStore;
  readonly streamCheckpoints: StreamCheckpointStore;
  readonly ledger: LedgerStore;
  readonly wishes: WishStore;
  readonly profiles: ProfileStore;
  readonly config: ConfigStore;
  readonly commit: CommitThread;
}

/**
 * The queue half, which a store may leave out: then runs live in the process that started them, and a commit with a part of the queue in
 * it (`fence`, `dispatch`, `pending`) is `capability_mismatch`.
 */
export interface QueuePorts {
  readonly pending: PendingStore;
  readonly dispatches: DispatchStore;
}

export function hasQueue<Ports extends StorePorts>(ports: Ports): ports is Ports & QueuePorts {
  return "dispatches" in ports && "pending" in ports;
}

/** The handle of one tenant; cheap, and nothing to close. */
export interface ScopedStore extends StorePorts {
  readonly scopeId: ScopeId;

  /** A store may leave it out: then nobody is woken, and whoever waits has to ask. */
  readonly live?: LiveStore;

  /**
   * Runs `work` in one transaction: it reads its own writes, and all of them or none stay. It may hold back every other writer, so
   * it awaits nothing but the ports that it is given; they are void when it returns. What `work` throws rolls back and is thrown on.
   * An engine that lets others write meanwhile refuses with `version_conflict` when they changed the same: the caller may try again.
   */
  transaction<T>(work: (ports: StorePorts) => Promise<T>): Promise<T>;
}

export interface ScopedQueueStore extends ScopedStore, QueuePorts {
  transaction<T>(work: (ports: StorePorts & QueuePorts) => Promise<T>): Promise<T>;
}

/** How long things stay after their last change; what is left out stays. Open work, threads, messages and runs are never swept. */
export interface Retention {
  readonly eventsMs?: number;
  /** Dispatches that are over; a store without a queue has none. */
  readonly dispatchesMs?: number;
  readonly streamCheckpointsMs?: number;
  /** Rows of runs that are done. */
  readonly ledgerMs?: number;
  /** Decisions and cancel wishes of runs that are done. */
  readonly wishesMs?: number;
  /** Ids of what was put on other threads: after that, a repeated id would be delivered again. */
  readonly outboundMs?: number;
}

const DAY_MS = 24 * 3_600_000;

/** What we advise to keep, in milliseconds. */
export const DEFAULT_RETENTION = Object.freeze({
  eventsMs: 30 * DAY_MS,
  dispatchesMs: DAY_MS,
  streamCheckpointsMs: 15 * 60_000,
  ledgerMs: 30 * DAY_MS,
  wishesMs: 30 * DAY_MS,
  outboundMs: 7 * DAY_MS,
}) satisfies Required<Retention>;

export interface SweepResult {
  readonly events: number;
  readonly dispatches: number;
  readonly streamCheckpoints: number;
  readonly ledger: number;
  readonly wishes: number;
  readonly outbound: number;
}

/** Rows of all tenants. */
export interface StoreStats {
  readonly threads: number;
  readonly messages: number;
  readonly runs: Readonly<Record<RunStatus, number>>;
  readonly events: number;
  readonly streamCheckpoints: number;
  readonly ledger: number;
  readonly wishes: number;
  readonly profiles: number;
  readonly config: number;
  /** On disk or in memory, as the engine tells it. */
  readonly bytes: number;
}

export interface QueueStoreStats extends StoreStats {
  readonly pending: number;
  readonly dispatches: Readonly<Record<DispatchStatus, number>>;
}

/** An open store: the handle of the default tenant, and what belongs to the host alone. */
export interface Store extends ScopedStore, AsyncDisposable {
  scoped(scopeId: ScopeId): ScopedStore;

  /** Deletes what is past its time, in small transactions. */
  sweep(retention: Retention): Promise<SweepResult>;

  stats(): Promise<StoreStats>;

  /** Waits for what is under way; idempotent. Every call after it is `storage_io`. */
  close(): Promise<void>;
}

/** A store with a queue: what workers need. */
export interface QueueStore extends Store, ScopedQueueStore {
  scoped(scopeId: ScopeId): ScopedQueueStore;

  transaction<T>(work: (ports: StorePorts & QueuePorts) => Promise<T>): Promise<T>;

  readonly queue: DispatchQueue;

  stats(): Promise<QueueStoreStats>;
}

import type {
  ConfigEntry,
  ConfigKey,
  DispatchId,
  DispatchRecord,
  GrowingView,
  LedgerEntry,
  MessageId,
  MessageRecord,
  PendingRecord,
  PersistedState,
  ProfileOwner,
  ProfileRecord,
  RunId,
  RunRecord,
  ScopedHint,
  ScopeId,
  StreamCheckpoint,
  ThreadId,
  ThreadRecord,
  TicketId,
} from "@awaken/contract";
import { Broadcast } from "./broadcast.ts";
import type { EventRow, RowLog } from "./event-row.ts";
import type { Runner } from "./gate.ts";
import type { Journal } from "./journal.ts";

/** What all tenants of one store share. */
export interface Shared {
  readonly clock: () => number;
  readonly ids: () => string;
  /** A new one for each event log of the store. */
  readonly tags: () => string;
  readonly hints: Broadcast<ScopedHint>;
}

/** All that belongs to one thread id. The record is absent while only queues know the thread. */
export interface ThreadRow {
  record: ThreadRecord | undefined;
  state: PersistedState | undefined;
  /** By seq. */
  readonly messages: MessageRecord[];
  readonly seqs: Map<MessageId, number>;
  /** `foldedUpTo` of the log. */
  folded: number;
  /** What a model may see of the first `count` rows; absent until somebody asks for it. */
  view: { readonly growing: GrowingView; count: number } | undefined;
  /** By ordinal. */
  readonly runIds: RunId[];
  latestRunId: RunId | undefined;
  pending: readonly PendingRecord[];
  epoch: number;
  claimedId: DispatchId | undefined;
  /** Those that are not over, and those that are; undefined for a thread that never had one. */
  dispatchIds: { readonly open: Set<DispatchId>; readonly over: Set<DispatchId> } | undefined;
}

/** The rows of one tenant. */
export interface Tables extends Shared {
  readonly scopeId: ScopeId;
  readonly threads: Map<ThreadId, ThreadRow>;
  readonly runs: Map<RunId, RunRecord>;
  /** Runs that wait for a ticket or have decided it. */
  readonly runsByTicket: Map<TicketId, Set<RunId>>;
  readonly dispatches: Map<DispatchId, DispatchRecord>;
  /** Threads with a dispatch that is not over: what a scheduler looks at. */
  readonly busyThreads: Set<ThreadId>;
  readonly ledger: Map<string, LedgerEntry>;
  /** Idempotency keys in the order of their first claim. */
  readonly ledgerByRun: Map<RunId, string[]>;
  readonly threadEvents: Map<ThreadId, RowLog>;
  readonly runEvents: Map<RunId, RowLog>;
  /** By writer and idempotency key. */
  readonly eventsByKey: Map<string, EventRow>;
  readonly streamCheckpoints: Map<RunId, Map<number, StreamCheckpoint>>;
  readonly profiles: Map<ProfileOwner, Map<string, ProfileRecord>>;
  readonly config: Map<string, Map<string, ConfigEntry>>;
  readonly configChanges: Broadcast<ConfigKey>;
}

export function createTables(scopeId: ScopeId, shared: Shared): Tables {
  return {
    ...shared,
    scopeId,
    configChanges: new Broadcast(),
    threads: new Map(),
    runs: new Map(),
    runsByTicket: new Map(),
    dispatches: new Map(),
    busyThreads: new Set(),
    ledger: new Map(),
    ledgerByRun: new Map(),
    threadEvents: new Map(),
    runEvents: new Map(),
    eventsByKey: new Map(),
    streamCheckpoints: new Map(),
    profiles: new Map(),
    config: new Map(),
  };
}

/** One piece of writing work. */
export interface Change {
  readonly tables: Tables;
  readonly journal: Journal;
  readonly now: number;
}

/** How the ports of one tenant get at its tables. */
export interface Access {
  read<T>(work: (tables: Tables) => T): Promise<T>;
  /** All of `work` or nothing of it. */
  write<T>(work: (change: Change) => T): Promise<T>;
  readonly closing: AbortSignal;
  readonly configChanges: Broadcast<ConfigKey>;
}

export const accessTo = (tables: Tables, runner: Runner): Access => ({
  read: (work) => runner.read(() => work(tables)),
  write: (work) => runner.write((journal) => work({ tables, journal, now: tables.clock() })),
  closing: runner.closing,
  configChanges: tables.configChanges,
});

/** The row of a thread, made when it is not there yet. */
export function threadRow({ tables, journal }: Change, id: ThreadId): ThreadRow {
  const found = tables.threads.get(id);
  if (found !== undefined) return found;
  const row: ThreadRow = {
    record: undefined,
    state: undefined,
    messages: [],
    seqs: new Map(),
    folded: 0,
    view: undefined,
    runIds: [],
    latestRunId: undefined,
    pending: [],
    epoch: 0,
    claimedId: undefined,
    dispatchIds: undefined,
  };
  journal.set(tables.threads, id, row);
  return row;
}

import type {
  DispatchId,
  Message,
  MessageId,
  PersistedState,
  RunActivation,
  RunId,
  RunRecord,
  ScopeId,
  ThreadId,
  TicketId,
} from "@awaken/contract";
import type {
  ClaimedDispatch,
  ConfigEntry,
  ConfigKey,
  DispatchRecord,
  GrowingView,
  LedgerEntry,
  PendingRecord,
  ProfileOwner,
  ProfileRecord,
  ScopedHint,
  StreamCheckpoint,
  ThreadRecord,
  WishRecord,
} from "@awaken/contract/store";
import type { Parcels } from "../parcels.ts";
import { type Kept, Table } from "./at-rest.ts";
import type { Broadcast } from "./broadcast.ts";
import type { EventBatch, RowLog } from "./event-batch.ts";
import type { Tags } from "./event-log.ts";
import type { Runner } from "./gate.ts";
import type { Ids } from "./ids.ts";
import { type Journal, NONE } from "./journal.ts";

/** What all tenants of one store share. */
export interface Shared {
  readonly clock: () => number;
  readonly ids: () => string;
  /** Of the event logs. */
  readonly tags: Tags;
  readonly hints: Broadcast<ScopedHint>;
  readonly parcels: Parcels;
  readonly configChanges: Broadcast<ScopedConfigKey>;
}

export interface ScopedConfigKey {
  readonly scopeId: ScopeId;
  readonly key: ConfigKey;
}

/** All that belongs to one thread id. The record is absent while only queues know the thread. */
export interface ThreadRow {
  record: ThreadRecord | undefined;
  state: PersistedState | undefined;
  /** By seq. A row of the log is made for whoever reads it. */
  messages: Message[];
  /** Pairs: from which row on messages were made so many milliseconds after the thread, those before the first with it. Small numbers take no room of their own. */
  ages: number[];
  /** Absent as long as the ids rise, as time-ordered ones do. It may hold ids that were taken back: `seqOf` knows. */
  seqs: Map<MessageId, number> | undefined;
  /** `foldedUpTo` of the log. */
  folded: number;
  /** What a model may see of the rows up to `last`; absent until somebody asks for it. */
  view: { readonly growing: GrowingView; count: number; last: Message | undefined } | undefined;
  /** By ordinal. */
  runIds: Ids<RunId>;
  latestRun: Kept<RunRecord> | undefined;
  pending: readonly PendingRecord[];
  epoch: number;
  claimed: ClaimedDispatch | undefined;
  /** Dispatches that are not over, and those that are. */
  openIds: Ids<DispatchId>;
  overIds: Ids<DispatchId>;
  /** Absent until something is written about the thread, or somebody reads. */
  events: RowLog | undefined;
}

/** The rows of one tenant. */
export interface Tables extends Shared {
  readonly scopeId: ScopeId;
  readonly threads: Map<ThreadId, ThreadRow>;
  readonly runs: Table<RunId, RunRecord>;
  /** Of the run that was written last: that of the next one is mostly the same. */
  lastActivation: RunActivation | undefined;
  /** The one that was handed over last: what is kept of it is `lastActivation`. */
  lastGiven: RunActivation | undefined;
  /** Runs that wait for a ticket or have decided it. */
  readonly runsByTicket: Map<TicketId, Set<RunId>>;
  readonly runsByParent: Map<RunId, Set<RunId>>;
  readonly runsByRoot: Map<RunId, Set<RunId>>;
  readonly dispatches: Map<DispatchId, DispatchRecord>;
  /** Threads with a dispatch that is not over: what a scheduler looks at. */
  readonly busyThreads: Set<ThreadId>;
  readonly ledger: Map<string, LedgerEntry>;
  /** Idempotency keys in the order of their first claim. */
  readonly ledgerByRun: Map<RunId, string[]>;
  readonly wishes: Map<string, WishRecord>;
  /** Ids in the order of their making. */
  readonly wishesByRun: Map<RunId, readonly string[]>;
  /** When each was delivered, by its id. */
  readonly outbound: Map<string, number>;
  readonly runEvents: Map<RunId, RowLog>;
  /** By writer and idempotency key. */
  readonly eventsByKey: Map<string, EventBatch>;
  readonly streamCheckpoints: Map<RunId, Map<number, StreamCheckpoint>>;
  readonly profiles: Map<ProfileOwner, Map<string, ProfileRecord>>;
  readonly config: Map<string, Map<string, ConfigEntry>>;
}

function createTables(scopeId: ScopeId, shared: Shared): Tables {
  return {
    ...shared,
    scopeId,
    threads: new Map(),
    runs: new Table(),
    lastActivation: undefined,
    lastGiven: undefined,
    runsByTicket: new Map(),
    runsByParent: new Map(),
    runsByRoot: new Map(),
    dispatches: new Map(),
    busyThreads: new Set(),
    ledger: new Map(),
    ledgerByRun: new Map(),
    wishes: new Map(),
    wishesByRun: new Map(),
    outbound: new Map(),
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
  readonly scopeId: ScopeId;
  read<T>(work: (tables: Tables) => T): Promise<T>;
  /** All of `work` or nothing of it. */
  write<T>(work: (change: Change) => T): Promise<T>;
  /** The same for work that takes time: it has its place in the line from here on. */
  transaction<T>(work: (inside: Access) => Promise<T>): Promise<T>;
  readonly closing: AbortSignal;
  readonly configChanges: Broadcast<ScopedConfigKey>;
}

/** The tenants that have written something, or have somebody who listens: a handle alone is kept by nobody. */
export class Tenants {
  readonly #byId = new Map<ScopeId, Tables>();
  readonly #shared: Shared;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  all(): readonly Tables[] {
    return [...this.#byId.values()];
  }

  accessTo(scopeId: ScopeId, runner: Runner): Access {
    const { configChanges, clock } = this.#shared;
    return {
      scopeId,
      read: (work) => runner.read(() => work(this.#byId.get(scopeId) ?? createTables(scopeId, this.#shared))),
      write: (work) => runner.write((journal) => work({ tables: this.open(scopeId), journal, now: clock() })),
      transaction: (work) => runner.transaction((inside) => work(this.accessTo(scopeId, inside))),
      closing: runner.closing,
      configChanges,
    };
  }

  /** Lets go of those that have nothing any more. */
  sweep(): void {
    for (const [id, tables] of this.#byId) if (isEmpty(tables)) this.#byId.delete(id);
  }

  /** Not taken back with what is written first: somebody may follow the tenant already. */
  open(scopeId: ScopeId): Tables {
    const found = this.#byId.get(scopeId);
    if (found !== undefined) return found;
    const tables = createTables(scopeId, this.#shared);
    this.#byId.set(scopeId, tables);
    return tables;
  }
}

const isEmpty = (tables: Tables): boolean =>
  Object.values(tables).every((table) => !(table instanceof Map || table instanceof Set || table instanceof Table) || table.size === 0);

/** The row of a thread, made when it is not there yet. One with nothing in it does no harm, so it stays when the work is taken back. */
export function threadRow({ threads }: Tables, id: ThreadId): ThreadRow {
  const found = threads.get(id);
  if (found !== undefined) return found;
  const row: ThreadRow = {
    record: undefined,
    state: undefined,
    messages: NONE,
    ages: NONE,
    seqs: undefined,
    folded: 0,
    view: undefined,
    runIds: undefined,
    latestRun: undefined,
    pending: NONE,
    epoch: 0,
    claimed: undefined,
    openIds: undefined,
    overIds: undefined,
    events: undefined,
  };
  threads.set(id, row);
  return row;
}

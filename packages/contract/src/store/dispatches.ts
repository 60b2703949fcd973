import type { AwakenError } from "../error.ts";
import type { DispatchId, RunId, ScopeId, ThreadId } from "../ids.ts";
import type { RunRecord } from "../run.ts";
import type {
  CancelledDispatch,
  ClaimedDispatch,
  DeadLetterDispatch,
  DispatchRecord,
  DispatchResult,
  DispatchStatus,
  QueuedDispatch,
  SupersededDispatch,
} from "./dispatch-record.ts";
import type { NewDispatch } from "./dispatch-transitions.ts";
import type { Page } from "./page.ts";
import type { PendingRecord } from "./pending.ts";
import type { ThreadHead } from "./threads.ts";
import type { WishRecord } from "./wishes.ts";

/** Proof of a claim: whoever shows it may settle the dispatch and commit its run. */
export interface Fence {
  readonly dispatchId: DispatchId;
  readonly claimToken: string;
}

export interface ClaimRequest {
  /** The worker that claims. */
  readonly consumer: string;
  readonly leaseMs: number;
}

/** What a run begins with, as it stands when its dispatch is claimed. */
export interface ClaimedRecords {
  readonly run: RunRecord | undefined;
  /** As `loadHead` gives it. */
  readonly head: ThreadHead | undefined;
  /** The queue of messages. */
  readonly pending: readonly PendingRecord[];
  /** Wishes about the run that nobody took, the oldest first. */
  readonly wishes: readonly WishRecord[];
  /** What else is queued on the thread, by `compareDispatches`; of many the first. */
  readonly queued: readonly QueuedDispatch[];
}

/**
 * While it holds, only its holder writes the run and the log. Others may add messages, wishes and dispatches: the first commit finds those
 * that came since.
 */
export interface Claim {
  readonly dispatch: ClaimedDispatch;
  /** Or why they cannot be read: whoever claimed it says what becomes of it. */
  readonly records: ClaimedRecords | AwakenError;
}

export interface LeaseRenewal {
  /** Whether somebody wants something of the run that nobody took. */
  readonly hasWishes: boolean;
}

/** What an interrupt leaves of the queue of a thread. */
export interface InterruptedThread {
  /** The thread's epoch from now on. */
  readonly epoch: number;
  /** Still with its worker, which loses it at its next call. */
  readonly claimed?: ClaimedDispatch;
  readonly superseded: readonly SupersededDispatch[];
}

/** Dispatches of a tenant stand by creation, the oldest first. */
export interface DispatchPosition {
  readonly createdAt: number;
  readonly dispatchId: DispatchId;
}

/**
 * The queue of one tenant. At most one dispatch of a thread is claimed at any time, from any process. Times are the store's clock.
 * Methods that take a fence throw `fence_lost` unless `readClaim` says `held`; a `stale` row is superseded first, and that stays written.
 */
export interface DispatchStore {
  /**
   * Durable when it returns; stamped with the thread's epoch (0 for a new thread). It stands behind what is open on the thread, whatever
   * clocks say. `storage_already_exists` for a known id, or a `dedupeKey` that a dispatch of this thread holds which is not over.
   */
  enqueue(dispatch: NewDispatch): Promise<QueuedDispatch>;

  /**
   * Supersedes queued rows of an older epoch, then claims the first by `compareDispatches` that is available, under a new token.
   * Undefined when there is none or a dispatch of the thread is claimed.
   */
  claim(threadId: ThreadId, request: ClaimRequest): Promise<Claim | undefined>;

  /** As `claim`, for this row, whether it is available yet or not. */
  claimDispatch(id: DispatchId, request: ClaimRequest): Promise<Claim | undefined>;

  /** Undefined means that the claim is lost and the run must stop; it throws only when the store itself fails. */
  extendLease(fence: Fence, leaseMs: number): Promise<LeaseRenewal | undefined>;

  recordStart(fence: Fence, instanceId: string): Promise<void>;

  recordResult(fence: Fence, result: DispatchResult): Promise<void>;

  ack(fence: Fence): Promise<void>;

  nack(fence: Fence, failure: { readonly error: string; readonly delayMs: number }): Promise<QueuedDispatch | DeadLetterDispatch>;

  deadLetter(fence: Fence, error: string): Promise<DeadLetterDispatch>;

  /** Back to the queue without using up a try; to be claimed again after `delayMs`, at once without. */
  release(fence: Fence, delayMs?: number): Promise<QueuedDispatch>;

  /** Only a queued one; undefined, and no change, for any other. */
  cancel(id: DispatchId): Promise<CancelledDispatch | undefined>;

  /** One transaction: the epoch rises, and queued rows of the thread are superseded. */
  interrupt(threadId: ThreadId): Promise<InterruptedThread>;

  /** Undefined when the row is gone or not claimed under this token. */
  supersedeClaimed(fence: Fence, reason: string): Promise<SupersededDispatch | undefined>;

  load(id: DispatchId): Promise<DispatchRecord | undefined>;

  /** By `compareDispatches`. */
  list(
    threadId: ThreadId,
    query: { readonly statuses?: readonly DispatchStatus[]; readonly offset?: number; readonly limit?: number },
  ): Promise<readonly DispatchRecord[]>;

  /** Of all threads of the tenant. Dead letters need an index of their own, not a scan. */
  listAll(query: {
    readonly statuses: readonly DispatchStatus[];
    readonly after?: DispatchPosition;
    readonly limit?: number;
  }): Promise<Page<DispatchRecord, DispatchPosition>>;

  /**
   * Deletes a dead letter, and gives it; of two callers one. Undefined, and no change, for a dispatch that is unknown or no dead letter. In a
   * transaction it can be enqueued again under its id, with fresh attempts.
   */
  removeDeadLetter(id: DispatchId): Promise<DeadLetterDispatch | undefined>;

  countByStatus(): Promise<Readonly<Record<DispatchStatus, number>>>;

  /** Tells the process that executes this run; best effort, at most once. The facts are stored already. */
  hint(hint: RunHint): Promise<void>;
}

export interface RunHint {
  readonly type: "cancel" | "wake";
  readonly threadId: ThreadId;
  readonly runId: RunId;
}

export interface ScopedThread {
  readonly scopeId: ScopeId;
  readonly threadId: ThreadId;
}

export interface ScopedDispatch {
  readonly scopeId: ScopeId;
  readonly dispatch: DispatchRecord;
}

export interface Consumer {
  readonly name: string;
  /** Milliseconds until the first of its leases is over; 0 when one is. */
  readonly leaseEndsInMs: number;
}

/**
 * The queues of all tenants, for the scheduler of the host; nothing of it may reach a client. Where a list says what comes first, those of
 * which that is the same may come in any order, and those of a list that says nothing in any.
 */
export interface DispatchQueue {
  /** Threads that have a dispatch to claim and none claimed; the longest available first. */
  listDue(limit?: number): Promise<readonly ScopedThread[]>;

  /** Milliseconds until a dispatch of a free thread becomes available, 0 when one is; undefined when none is queued. */
  nextDueInMs(): Promise<number | undefined>;

  /**
   * Every claimed row whose lease `isLeaseOver`, or whose consumer is one of `gone`, goes through `expireDispatch`; rows of an older epoch
   * are superseded and not returned. Two callers never get the same row.
   */
  reclaimExpired(limit?: number, gone?: readonly string[]): Promise<readonly ScopedDispatch[]>;

  /** Who holds claims, the one whose lease ends first in front. */
  listConsumers(): Promise<readonly Consumer[]>;

  /** Dispatches that are over, the longest first. */
  listOver(query: { readonly updatedSince?: number; readonly limit?: number }): Promise<readonly ScopedDispatch[]>;

  /**
   * Threads with pending messages, no queued or claimed dispatch and no run that is running or waits: nobody comes to read them. By scope
   * and thread, behind `after`.
   */
  listStranded(query: { readonly after?: ScopedThread; readonly limit?: number }): Promise<readonly ScopedThread[]>;

  /**
   * Threads with a run that waits for its background tasks, and no queued or claimed dispatch: if a task was lost with its process, nobody
   * wakes it. By scope and thread, behind `after`. Needs an index, not a scan.
   */
  listAwaitingTasks(query: { readonly after?: ScopedThread; readonly limit?: number }): Promise<readonly ScopedThread[]>;

  /** Dead letters whose run is not over: whoever buried them did not come to end it. */
  listUnended(limit?: number): Promise<readonly ScopedDispatch[]>;

  /** Enqueued work and run hints from every process, best effort: whoever listens also asks `listDue` now and then. */
  hints(options: { readonly signal: AbortSignal }): AsyncIterable<ScopedHint>;
}

export type ScopedHint = ({ readonly type: "enqueued"; readonly threadId: ThreadId } | RunHint) & { readonly scopeId: ScopeId };

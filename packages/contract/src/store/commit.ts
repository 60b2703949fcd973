import type { MessageId, RunId, ThreadId } from "../ids.ts";
import type { Message } from "../message.ts";
import type { RunProjection, RunRecord } from "../run.ts";
import type { PersistedState } from "../state.ts";
import type { DispatchRecord, DispatchResult, QueuedDispatch } from "./dispatch-record.ts";
import type { NewDispatch } from "./dispatch-transitions.ts";
import type { ClaimRequest, Fence } from "./dispatches.ts";
import type { EventAppend, EventCursor, StoredEvent } from "./events.ts";
import type { LedgerClaim, LedgerOutcome } from "./ledger.ts";
import type { Outbound } from "./outbound.ts";
import type { Boundary, NewPending } from "./pending.ts";

/** A writer has to say what it saw: `expectedMessageCount` is the number of rows in the log when it built the delta. */
export interface MessageDelta {
  readonly messages: readonly Message[];
  readonly expectedMessageCount: number;
}

/**
 * Takes entries out of the pending queue. Their messages are in the delta, in this order. After `append` the store selects again;
 * other ids or revisions than these are a `pending_selection_conflict`.
 */
export interface PendingConsumption {
  readonly boundary: Boundary;
  readonly entries: readonly { readonly pendingId: MessageId; readonly revision: number }[];
}

export interface PendingChange {
  readonly append?: readonly NewPending[];
  readonly consume?: PendingConsumption;
}

/** `ack` and `dead-letter` settle the dispatch of the fence. */
export type DispatchChange =
  | { readonly type: "enqueue"; readonly dispatch: NewDispatch }
  /** For a caller that streams: nobody else can get it. `fence_lost` when a dispatch of the thread is claimed already. */
  | { readonly type: "enqueue-claimed"; readonly dispatch: NewDispatch; readonly claim: ClaimRequest }
  | { readonly type: "ack"; readonly result: DispatchResult }
  | { readonly type: "dead-letter"; readonly error: string };

/** All that one run changes at one moment. What is left out stays as it is. */
export interface ThreadCommit {
  readonly threadId: ThreadId;
  readonly runId: RunId;
  readonly messageDelta?: MessageDelta;
  /** The whole run; left out when only other parts change. */
  readonly run?: RunProjection;
  /** The run must not exist yet, else `storage_already_exists`. */
  readonly isNewRun?: true;
  /** The id of the thread was made for it: a store may go by that first. When there is one in spite of it, that is the thread. */
  readonly isNewThread?: true;
  readonly threadState?: PersistedState;
  readonly events?: readonly EventAppend[];
  readonly ledger?: { readonly claims: readonly LedgerClaim[]; readonly outcomes: readonly LedgerOutcome[] };
  readonly dispatch?: DispatchChange;
  readonly pending?: PendingChange;
  /** For other threads, in the same transaction. */
  readonly outbound?: readonly Outbound[];
  /** Wishes of this run that its owner has followed; one that is not open any more is `already_consumed`. */
  readonly takes?: readonly string[];
  /** The turn of this step is in the delta now. */
  readonly landedStep?: number;
  readonly fence?: Fence;
}

export interface CommitResult {
  /** Rows in the log now: the guard of the next commit. */
  readonly messageCount: number;
  readonly run?: RunRecord | undefined;
  readonly events: readonly StoredEvent[];
  /** Of the last of them in the log of the run, from a store that makes events only for those who ask. */
  readonly lastCursor?: EventCursor | undefined;
  /** The dispatch that was enqueued or settled. */
  readonly dispatch?: DispatchRecord | undefined;
  /** Whether somebody wants something of the run that nobody took: see `wishes.listOpen`. */
  readonly hasWishes: boolean;
  /** Whether messages still wait on the thread. Told by a commit that consumed some; undefined: nobody looked. */
  readonly hasPending?: boolean | undefined;
  /** The dispatch that `followUp` asked for. */
  readonly next?: QueuedDispatch | undefined;
}

/**
 * The one durable write. One transaction, all or nothing; observers see all of it or none. In this order: `checkCommit` before any I/O;
 * lock the thread, and those of `outbound` with it by `touchedThreads`; the fence (claimed, this token, the thread's epoch: else `fence_lost`, which is final for the writer; a commit with a
 * run or messages and without a fence is `fence_lost` too while a dispatch of the thread is claimed, unless the run `isAside`); the expected count (else `message_version_conflict` with threadId, expected and actual); append, where a known message id is `storage_validation`;
 * the run by `checkRunTransition`; the thread, made if need be, by `projectRun` and `checkLineage`; state, ledger by `claimEffect` and
 * `settleEffect` (claims need a run that exists and is not done, else `illegal_transition`), pending, dispatch, `takes` (a run that ends takes every wish of it that is open, and a commit that decides a
 * ticket about which another decision is open is `ticket_not_open`), outbound, events; then what is left over: the dispatch of `followUp`, if the store has a queue.
 *
 * A writer rebuilds and tries again, at most 8 times, after `message_version_conflict` and `pending_selection_conflict`. `commit_unknown`
 * means that the answer was lost: it reads before it writes again. The cost depends on the commit, never on the length of the thread.
 */
export type CommitThread = (commit: ThreadCommit) => Promise<CommitResult>;

export const MAX_COMMIT_ATTEMPTS = 8;

const hasMessages = ({ messageDelta }: ThreadCommit): boolean => (messageDelta?.messages.length ?? 0) > 0;

/**
 * A run that is only put down for later, or called off before anybody began it; `before` is how it is on record. While somebody holds the
 * thread it stands aside: no pointer of the thread moves to it.
 */
export function isAside(commit: ThreadCommit, before: RunRecord | undefined): boolean {
  const { run, isNewRun } = commit;
  if (hasMessages(commit)) return false;
  return isNewRun === true ? run?.status === "created" : run?.status === "done" && before?.status === "created";
}

/** Ends a run and does nothing else to the queue: whoever holds the thread may do so to any run of it. */
export const isEnding = ({ run, dispatch }: ThreadCommit): boolean => run?.status === "done" && dispatch === undefined;

/** Whether only the one who holds the thread may write this: a run, unless it stands aside, or messages. */
export const needsFence = (commit: ThreadCommit, before: RunRecord | undefined): boolean =>
  (commit.run !== undefined && !isAside(commit, before)) || hasMessages(commit);

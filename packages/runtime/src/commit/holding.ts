import type { RunId, RunProjection } from "@awaken/contract";
import type { Boundary, CommitResult, DispatchResult, EventAppend, EventCursor, PendingRecord, ThreadCommit } from "@awaken/contract/store";
import type { CommitPorts } from "./commit-store.ts";

/** What rides in a commit beside what the run itself has to say. */
export type Riders = Pick<ThreadCommit, "fence" | "dispatch" | "pending" | "takes" | "outbound">;

/** A commit that is about to be sent. */
export interface Departure {
  /** Also of a run that the thread's new one leaves behind, and that is ended for it. */
  readonly runId: RunId;
  /** As it will be on record. Undefined: messages alone. */
  readonly run: RunProjection | undefined;
  /** Facts that it puts into the log. */
  readonly events: readonly EventAppend[];
  /** Nothing of this activation is on record yet. */
  readonly isFirst: boolean;
  /** The run leaves with this commit, done or waiting; undefined while it goes on. */
  readonly result: DispatchResult | undefined;
}

/** Why a step could not be made. */
export interface LeavingFailure {
  /** What failed. */
  readonly of: "model" | "store";
  readonly code: string;
  readonly message: string;
  /** Whether the same may work at another time. */
  readonly mayPass: boolean;
  /** How long the vendor asks to wait. */
  readonly retryAfterMs: number | undefined;
}

/** Whoever waits for the run follows it; or nobody here goes on with it, and he is told that. */
export type TakenBack = "later" | "elsewhere";

/** How a run leaves before its end, for others to go on with it. */
export interface WayOut {
  /** Looked at between steps: the run leaves as its last commit has it. */
  readonly isDue: boolean;
  /** Aborted when an answer that is being streamed is not to be waited for. Undefined: none ever is. */
  readonly signal: AbortSignal | undefined;
  /** Whether a step that failed so is tried again, instead of ending the run. */
  takesBack(failure: LeavingFailure): TakenBack | undefined;
}

/** Up to where the log of a run counts as told. Unknown: up to where it ends when it is read first. */
export type ToldPlace = { readonly type: "nothing" | "unknown" } | { readonly type: "up-to"; readonly cursor: EventCursor };

/** What whoever holds the thread adds to the commits of its run, and hears of them. Of what rides there the loop knows nothing: it asks what waits at the thread. */
export interface Holding {
  /** Whether somebody tries the run again when its last commit fails: then nobody is told that it failed. */
  readonly isTriedAgain?: boolean;
  /** Undefined: the run ends here, whatever happens. */
  readonly wayOut?: WayOut | undefined;
  /** How far the log of the run is known to whoever heard this activation. Asked when it leaves; never rejects. */
  place?(): Promise<ToldPlace>;
  /**
   * Asked for every try of a commit, also after one that failed: it only looks, and `landed` says what is through. `fence_lost` when the
   * thread is not held any more: nothing is to be written.
   */
  riders(departure: Departure): Riders;
  /**
   * Writes the first commit in a transaction with what has to come to be together with it. Undefined: there is nothing, and it is written
   * alone.
   */
  first?(commit: ThreadCommit, write: (ports: CommitPorts) => Promise<CommitResult>): Promise<CommitResult> | undefined;
  /**
   * It is on record. Without a result the store's answer was lost, and the commit was found there. Nothing else is committed before this
   * is over. It must not throw.
   */
  landed(commit: ThreadCommit, result: CommitResult | undefined): Promise<void> | undefined;
  /**
   * Looked at before anything is begun outside that cannot be taken back: whoever stood still may have lost the thread meanwhile, and the
   * signal of the run is aborted then. Undefined: it is held for sure. Never rejects.
   */
  assure?(): Promise<void> | undefined;
  /** Whether `waiting` may find something now. */
  readonly hasMail: boolean;
  /**
   * What enters the run at this boundary, by `selectPending`. Asked at each one, and again when somebody changed the queue meanwhile. Without
   * one all that waits on the thread; this rejects when the store does not tell.
   */
  waiting(at?: Boundary): readonly PendingRecord[] | Promise<readonly PendingRecord[]>;
  /** Messages may wait that nobody spoke of. */
  mail?(): void;
  /** Runs that nobody waits for any more: the next commit sees to their end. They are told to stop when it is on record. */
  abandon?(runs: readonly RunId[]): void;
  /** Whether there are such. */
  readonly isAbandoning?: boolean;
  /** The same of all that calls of a run have begun, as the records know them. */
  abandonBelow?(run: RunId): Promise<void>;
  /** What others want of the run is being read: before it parks, it waits for this. Never rejects. */
  readonly looking?: Promise<void> | undefined;
  /** Decisions that were kept for calls of this step are not followed: the next commit says so. */
  refuse?(decisions: readonly string[]): void;
}

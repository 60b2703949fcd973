import type { AwakenError, RunId, RunRecord, TaskEvent, TaskRecord, ThreadId } from "@awaken/contract";
import type { Holding } from "../commit/holding.ts";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import type { AgentMessageRequest } from "../loop/message-sink.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { Late } from "../stream/door.ts";
import type { ActiveRun } from "./active-runs.ts";

/** A run that is promised and not on record: it waits in the queue, or will never begin. */
export type UnbegunRun = { readonly type: "queued"; readonly threadId: ThreadId } | { readonly type: "never"; readonly error: AwakenError };

/** Of a run that is ended from its record. */
export interface EndingHolding extends Holding {
  /** For when the end is on record: runs that it waited for, and that are at work, are told to stop. Never rejects. */
  stopBelow(): Promise<void>;
}

/** How runs of this process hold their threads against other processes. Absent where nobody else can get at them. */
export interface Holds {
  /** What rides in the commits of the run; `given` is that of a dispatch which was claimed for it. The end of one that is awaited here wakes nobody. */
  open(run: ActiveRun, given: Holding | undefined, isAwaited: boolean): Late<Holding>;
  /** Gives the thread of the run back as it is on record: another process goes on with it. Never rejects. */
  release(run: ActiveRun): Promise<void>;
  /**
   * Puts a run into the queue: it is on record when this resolves, and workers of whatever process execute it. One that is to be resumed
   * comes behind whoever has it now: what is left of it then is gone on with, and when it is over, the run that waits for it is woken.
   */
  submit(order: RunOrder): Promise<void>;
  /**
   * News of a task for a thread, or for one run of it: durable when this resolves. The run that is open there reads them at its next
   * boundary, or is woken for them; without one the next run does. Of a task that is given they are dropped when it is not on record,
   * because the step that started it was taken back. False when the run that they are for is over.
   */
  post(threadId: ThreadId, event: TaskEvent, of?: RunId | TaskRecord): Promise<boolean>;
  /** A message of an agent for another thread: durable when this resolves. The same id twice is one message. Gives what it is known by. */
  message(request: AgentMessageRequest): Promise<string>;
  /** Asks the store whether this process still has the run. One that it lost is told so. */
  isHeld(run: ActiveRun): Promise<boolean>;
  /** Tells a run to stop, whoever executes it. */
  cancel(run: Pick<RunRecord, "runId" | "threadId">): Promise<void>;
  /** The run is over here. Whatever it could not settle is given back; never rejects. */
  leave(holding: Holding): Promise<void> | undefined;
  /**
   * Somebody here waits for a run that has left, perhaps in the last place that workers of this process have: they take it up beside those,
   * until what this gives is called.
   */
  expect(run: Pick<RunRecord, "threadId">): () => void;
  /**
   * The same for whoever waits for what was left to the queue, if his code has such a place itself. `thread_already_running` for a run that
   * is queued behind his own.
   */
  expectWithin(run: { readonly threadId: ThreadId; readonly isQueued: boolean }): (() => void) | undefined;
  /** Tells the process that executes the run. The decisions are on record when it resolves, and followed at the run's next boundary. */
  decide(run: RunRecord, decisions: readonly AddressedDecision[]): Promise<void>;
  /**
   * Decisions about calls that a run does not know yet, whoever executes it. They are on record when it resolves, whoever goes on with the
   * run; false: it has parked or ended meanwhile, and its record knows more.
   */
  keep(run: Pick<RunRecord, "runId" | "threadId">, decisions: readonly AddressedDecision[]): Promise<boolean>;
  /** For whoever ends a run from its records: those who wait for it, and whom it waited for, hear of it in the same commit. */
  endingOf(run: RunRecord): Promise<EndingHolding>;
  /** What became of a run that has no record. Undefined: nobody promised it. */
  unbegun(runId: RunId): Promise<UnbegunRun | undefined>;
  /** Somebody holds the thread. Resolves when he does not any more, since he is gone; else `thread_already_running`. */
  makeRoom(threadId: ThreadId): Promise<void>;
}

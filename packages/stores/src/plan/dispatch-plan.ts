import { AwakenError, type DispatchId } from "@awaken/contract";
import {
  ackDispatch,
  claimQueued,
  type DispatchChange,
  type DispatchRecord,
  deadLetterDispatch,
  isComposed,
  type LastOpen,
  type NewDispatch,
  type QueuedDispatch,
  queueDispatch,
  queueVouched,
  type ThreadCommit,
} from "@awaken/contract/store";

/** What a queue knows about one thread. */
export interface QueueReads {
  epoch(): number;
  isKnown(id: DispatchId): boolean;
  /** The dispatch of the thread that is not over and holds this key. */
  holder(dedupeKey: string): string | undefined;
  hasClaim(): boolean;
  hasQueued(): boolean;
  /** What a new one stands behind. */
  newest(): LastOpen | undefined;
}

export interface DispatchOrder {
  readonly commit: ThreadCommit;
  /** The dispatch of the fence, held. */
  readonly fenced: DispatchRecord | undefined;
  readonly now: number;
  readonly token: () => string;
  readonly rare: () => { planEnqueue(init: NewDispatch, reads: QueueReads, now: number): QueuedDispatch };
}

export interface DispatchMove {
  readonly before: DispatchRecord | undefined;
  readonly after: DispatchRecord;
}

export function planDispatch(change: DispatchChange, { commit, fenced, now, token, rare }: DispatchOrder, reads: QueueReads): DispatchMove {
  switch (change.type) {
    case "enqueue":
      return { before: undefined, after: rare().planEnqueue(change.dispatch, reads, now) };
    case "enqueue-claimed": {
      const queue = isComposed(commit) ? queueVouched : queueDispatch;
      // It does not wait, so it stands behind nothing.
      const queued = checkNew(queue(change.dispatch, { epoch: reads.epoch(), now }), reads);
      if (reads.hasClaim()) throw new AwakenError("fence_lost", `a dispatch of thread '${commit.threadId}' is claimed already`);
      const { consumer, leaseMs } = change.claim;
      return { before: undefined, after: claimQueued(queued, { claimToken: token(), claimedBy: consumer, leaseMs, now }) };
    }
    case "ack":
    case "dead-letter": {
      if (fenced?.status !== "claimed") throw new AwakenError("fence_lost", "there is no claim to settle");
      const after = change.type === "ack" ? ackDispatch(fenced, now, change.result) : deadLetterDispatch(fenced, change.error, now);
      return { before: fenced, after };
    }
  }
}

export function checkNew(queued: QueuedDispatch, reads: QueueReads): QueuedDispatch {
  const { dispatchId, threadId, dedupeKey } = queued;
  if (reads.isKnown(dispatchId)) throw taken(queued, `dispatch '${dispatchId}' exists`);
  if (dedupeKey !== undefined && reads.holder(dedupeKey) !== undefined) {
    throw taken(queued, `an open dispatch of thread '${threadId}' holds dedupe key '${dedupeKey}'`);
  }
  return queued;
}

const taken = ({ dispatchId, threadId }: QueuedDispatch, what: string): AwakenError =>
  new AwakenError("storage_already_exists", what, { details: { dispatchId, threadId } });

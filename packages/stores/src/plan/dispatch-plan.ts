import { AwakenError, type DispatchId } from "@awaken/contract";
import {
  ackDispatch,
  claimQueued,
  type DispatchChange,
  type DispatchRecord,
  deadLetterDispatch,
  isComposed,
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
}

export interface DispatchOrder {
  readonly commit: ThreadCommit;
  /** The dispatch of the fence, held. */
  readonly fenced: DispatchRecord | undefined;
  readonly now: number;
  readonly token: () => string;
}

export interface DispatchMove {
  readonly before: DispatchRecord | undefined;
  readonly after: DispatchRecord;
}

export function planDispatch(change: DispatchChange, { commit, fenced, now, token }: DispatchOrder, reads: QueueReads): DispatchMove {
  switch (change.type) {
    case "enqueue":
      return { before: undefined, after: planEnqueue(change.dispatch, reads, now) };
    case "enqueue-claimed": {
      const queued = planEnqueue(change.dispatch, reads, now, isComposed(commit) ? queueVouched : queueDispatch);
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

export function planEnqueue(init: NewDispatch, reads: QueueReads, now: number, queue = queueDispatch): QueuedDispatch {
  const queued = queue(init, { epoch: reads.epoch(), now });
  if (reads.isKnown(init.dispatchId)) throw taken(init, `dispatch '${init.dispatchId}' exists`);
  if (init.dedupeKey !== undefined && reads.holder(init.dedupeKey) !== undefined) {
    throw taken(init, `an open dispatch of thread '${init.threadId}' holds dedupe key '${init.dedupeKey}'`);
  }
  return queued;
}

const taken = ({ dispatchId, threadId }: NewDispatch, what: string): AwakenError =>
  new AwakenError("storage_already_exists", what, { details: { dispatchId, threadId } });

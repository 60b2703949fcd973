import { AwakenError, type DispatchId } from "@awaken/contract";
import {
  ackDispatch,
  claimQueued,
  type DispatchChange,
  type DispatchRecord,
  deadLetterDispatch,
  type NewDispatch,
  type QueuedDispatch,
  queueDispatch,
  recordResult,
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
      const queued = planEnqueue(change.dispatch, reads, now);
      if (reads.hasClaim()) throw new AwakenError("fence_lost", `a dispatch of thread '${commit.threadId}' is claimed already`);
      const { consumer, leaseMs } = change.claim;
      return { before: undefined, after: claimQueued(queued, { claimToken: token(), claimedBy: consumer, leaseMs, now }) };
    }
    case "ack":
    case "dead-letter": {
      if (fenced?.status !== "claimed") throw new AwakenError("fence_lost", "there is no claim to settle");
      const after =
        change.type === "ack" ? ackDispatch(recordResult(fenced, change.result, now), now) : deadLetterDispatch(fenced, change.error, now);
      return { before: fenced, after };
    }
  }
}

export function planEnqueue(init: NewDispatch, reads: QueueReads, now: number): QueuedDispatch {
  const queued = queueDispatch(init, { epoch: reads.epoch(), now });
  if (reads.isKnown(init.dispatchId)) throw taken(init, `dispatch '${init.dispatchId}' exists`);
  if (init.dedupeKey !== undefined && reads.holder(init.dedupeKey) !== undefined) {
    throw taken(init, `an open dispatch of thread '${init.threadId}' holds dedupe key '${init.dedupeKey}'`);
  }
  return queued;
}

const taken = ({ dispatchId, threadId }: NewDispatch, what: string): AwakenError =>
  new AwakenError("storage_already_exists", what, { details: { dispatchId, threadId } });

export interface FollowUp {
  /** The dispatch of the commit's own fence, and whether the commit settles it. */
  readonly fenced: DispatchId | undefined;
  readonly isSettled: boolean;
  readonly now: number;
}

/** Undefined when an open dispatch does the same. The writer's own, which is still claimed, does not: it may have looked already. */
export function planFollowUp(wanted: NewDispatch, { fenced, isSettled, now }: FollowUp, reads: QueueReads): QueuedDispatch | undefined {
  const { dedupeKey: key, ...keyless } = wanted;
  const holder = key === undefined ? undefined : reads.holder(key);
  if (holder !== undefined && holder !== fenced) return undefined;
  const isFree = holder === undefined || isSettled;
  return queueDispatch(isFree ? wanted : keyless, { epoch: reads.epoch(), now });
}

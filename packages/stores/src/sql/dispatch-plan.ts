import {
  AwakenError,
  ackDispatch,
  claimQueued,
  type DispatchId,
  type DispatchRecord,
  deadLetterDispatch,
  type NewDispatch,
  type QueuedDispatch,
  queueDispatch,
  recordResult,
  type ThreadCommit,
} from "@awaken/contract";

/** What a queue knows about one thread. */
export interface QueueReads {
  epoch(): number;
  isKnown(id: DispatchId): boolean;
  /** Whether a dispatch of the thread that is not over holds this key. */
  isHeld(dedupeKey: string): boolean;
  hasClaim(): boolean;
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

export function planDispatch({ commit, fenced, now, token }: DispatchOrder, reads: QueueReads): DispatchMove | undefined {
  const change = commit.dispatch;
  if (change === undefined) return undefined;
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
  const taken = (what: string) =>
    new AwakenError("storage_already_exists", what, { details: { dispatchId: init.dispatchId, threadId: init.threadId } });
  if (reads.isKnown(init.dispatchId)) throw taken(`dispatch '${init.dispatchId}' exists`);
  if (init.dedupeKey !== undefined && reads.isHeld(init.dedupeKey)) {
    throw taken(`an open dispatch of thread '${init.threadId}' holds dedupe key '${init.dedupeKey}'`);
  }
  return queued;
}

/** Why a fence does not hold. */
export function fenceLost(dispatchId: DispatchId, claim: "lost" | "stale"): AwakenError {
  return new AwakenError("fence_lost", `the claim on dispatch '${dispatchId}' is ${claim}`, { details: { dispatchId, claim } });
}

/** Why a dispatch of an older epoch is superseded. */
export const INTERRUPTED = "interrupted";

import type {
  CancelledDispatch,
  ClaimedDispatch,
  DeadLetterDispatch,
  DispatchRecord,
  QueuedDispatch,
  SupersededDispatch,
} from "./dispatch-record.ts";
import { deadLetterDispatch, type Enqueued, type NewDispatch, queueDispatch, unclaimed } from "./dispatch-transitions.ts";

// The moves of a dispatch that workers make, and those who look after a queue.

/** A lease that ends now still holds. */
export const isLeaseOver = (dispatch: ClaimedDispatch, now: number): boolean => dispatch.leaseUntil < now;

/** Lower priority number first, then the one that was queued first, which `createdAt` and the id say (`queueBehind`). */
export function compareDispatches(a: DispatchRecord, b: DispatchRecord): number {
  return a.priority - b.priority || a.createdAt - b.createdAt || (a.dispatchId < b.dispatchId ? -1 : 1);
}

/** Of the dispatches that are open on a thread the last, by creation. */
export type LastOpen = Pick<DispatchRecord, "createdAt" | "dispatchId" | "availableAt">;

/** Nobody waits longer than this for the clock of another process. */
const MAX_AHEAD_MS = 1_000;

/** `queueDispatch` for one that has to wait its turn: it stands behind what is open, whatever clocks say. They differ, and are set back. */
export function queueBehind(last: LastOpen | undefined, init: NewDispatch, enqueued: Enqueued): QueuedDispatch {
  if (last === undefined) return queueDispatch(init, enqueued);
  const { now } = enqueued;
  // Not before the last one was due at first; a delay of that one is its own.
  const dueAt = Math.min(last.createdAt, last.availableAt, now + MAX_AHEAD_MS);
  const queued = queueDispatch({ availableAt: Math.max(now, dueAt), ...init }, enqueued);
  if (last.createdAt < now) return queued;
  return { ...queued, createdAt: last.dispatchId < init.dispatchId ? last.createdAt : last.createdAt + 1 };
}

export function extendLease(dispatch: ClaimedDispatch, leaseMs: number, now: number): ClaimedDispatch {
  return { ...dispatch, leaseUntil: now + leaseMs, updatedAt: now };
}

export function recordStart(dispatch: ClaimedDispatch, instanceId: string, now: number): ClaimedDispatch {
  return { ...dispatch, echo: { type: "started", instanceId }, updatedAt: now };
}

/** One failure: back to the queue after the delay, or a dead letter when it was the last try. */
export function nackDispatch(
  dispatch: ClaimedDispatch,
  { error, delayMs, now }: { readonly error: string; readonly delayMs: number; readonly now: number },
): QueuedDispatch | DeadLetterDispatch {
  if (dispatch.attemptCount + 1 >= dispatch.maxAttempts) return deadLetterDispatch(dispatch, error, now);
  return { ...requeue(dispatch, now), attemptCount: dispatch.attemptCount + 1, availableAt: now + delayMs, lastError: error };
}

/** The worker is gone: a failure that nobody reported, so nothing that it said about the run is kept. */
export function expireDispatch(dispatch: ClaimedDispatch, now: number): QueuedDispatch | DeadLetterDispatch {
  const { echo: _echo, ...silent } = dispatch;
  return nackDispatch(silent, { error: `lease of '${dispatch.claimedBy}' expired`, delayMs: 0, now });
}

/** Given back unharmed, for a worker that shuts down: no try is used up. */
export const releaseDispatch = (dispatch: ClaimedDispatch, now: number, delayMs = 0): QueuedDispatch => ({
  ...requeue(dispatch, now),
  availableAt: now + delayMs,
  ...(delayMs > 0 ? { isPutBack: true } : undefined),
});

export const cancelDispatch = (dispatch: QueuedDispatch, now: number): CancelledDispatch => ({
  ...dispatch,
  status: "cancelled",
  completedAt: now,
  updatedAt: now,
});

export function supersedeDispatch(dispatch: QueuedDispatch | ClaimedDispatch, reason: string, now: number): SupersededDispatch {
  const queued = dispatch.status === "claimed" ? requeue(dispatch, now) : dispatch;
  return { ...queued, status: "superseded", lastError: reason, completedAt: now, updatedAt: now };
}

function requeue(dispatch: ClaimedDispatch, now: number): QueuedDispatch {
  return { ...unclaimed(dispatch, undefined), status: "queued", updatedAt: now };
}

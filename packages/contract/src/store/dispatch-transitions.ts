import type { DispatchId, RunId, ThreadId } from "../ids.ts";
import {
  type AckedDispatch,
  type CancelledDispatch,
  type ClaimedDispatch,
  DEFAULT_MAX_ATTEMPTS,
  DEFAULT_PRIORITY,
  type DeadLetterDispatch,
  DISPATCH_SCHEMA_VERSION,
  type DispatchRecord,
  type DispatchResult,
  dispatchRecord,
  type QueuedDispatch,
  type SupersededDispatch,
} from "./dispatch-record.ts";

// The moves of one dispatch, as data in and data out: a store loads the row, moves it and writes it in one transaction.

export interface NewDispatch {
  readonly dispatchId: DispatchId;
  readonly threadId: ThreadId;
  readonly runId: RunId;
  readonly priority?: number;
  readonly dedupeKey?: string;
  /** Not before this time; now when absent. */
  readonly availableAt?: number;
  readonly maxAttempts?: number;
}

/** `storage_validation` when a field is out of range. */
export function queueDispatch(init: NewDispatch, { epoch, now }: { readonly epoch: number; readonly now: number }): QueuedDispatch {
  const queued: QueuedDispatch = {
    priority: DEFAULT_PRIORITY,
    maxAttempts: DEFAULT_MAX_ATTEMPTS,
    availableAt: now,
    ...init,
    schemaVersion: DISPATCH_SCHEMA_VERSION,
    status: "queued",
    epoch,
    attemptCount: 0,
    createdAt: now,
    updatedAt: now,
  };
  dispatchRecord.check(queued);
  return queued;
}

export interface Lease {
  readonly claimToken: string;
  readonly claimedBy: string;
  readonly leaseMs: number;
  readonly now: number;
}

export function claimQueued(dispatch: QueuedDispatch, { claimToken, claimedBy, leaseMs, now }: Lease): ClaimedDispatch {
  return { ...dispatch, status: "claimed", claimToken, claimedBy, leaseUntil: now + leaseMs, updatedAt: now };
}

/**
 * What a worker that shows `claimToken` may do with the row: `held` is its own, `lost` belongs to somebody else or to nobody, and
 * `stale` is its own but void, because the thread was interrupted since.
 */
export function readClaim(dispatch: DispatchRecord | undefined, claimToken: string, threadEpoch: number): "held" | "lost" | "stale" {
  if (dispatch?.status !== "claimed" || dispatch.claimToken !== claimToken) return "lost";
  return dispatch.epoch < threadEpoch ? "stale" : "held";
}

/** A lease that ends now still holds. */
export const isLeaseOver = (dispatch: ClaimedDispatch, now: number): boolean => dispatch.leaseUntil < now;

export const isDispatchOver = (dispatch: DispatchRecord): boolean => dispatch.status !== "queued" && dispatch.status !== "claimed";

/** Lower priority number first, then the older one; ids keep ties in one order. */
export function compareDispatches(a: DispatchRecord, b: DispatchRecord): number {
  return a.priority - b.priority || a.createdAt - b.createdAt || (a.dispatchId < b.dispatchId ? -1 : 1);
}

export function extendLease(dispatch: ClaimedDispatch, leaseMs: number, now: number): ClaimedDispatch {
  return { ...dispatch, leaseUntil: now + leaseMs, updatedAt: now };
}

export function recordStart(dispatch: ClaimedDispatch, instanceId: string, now: number): ClaimedDispatch {
  return { ...dispatch, echo: { type: "started", instanceId }, updatedAt: now };
}

export function recordResult(dispatch: ClaimedDispatch, result: DispatchResult, now: number): ClaimedDispatch {
  const instanceId = dispatch.echo?.instanceId;
  return { ...dispatch, echo: { type: "result", ...(instanceId === undefined ? undefined : { instanceId }), result }, updatedAt: now };
}

export function ackDispatch(dispatch: ClaimedDispatch, now: number): AckedDispatch {
  const { claimToken: _token, claimedBy: _by, leaseUntil: _until, ...kept } = dispatch;
  return { ...kept, status: "acked", completedAt: now, updatedAt: now };
}

/** One failure: back to the queue after the delay, or a dead letter when it was the last try. */
export function nackDispatch(
  dispatch: ClaimedDispatch,
  { error, delayMs, now }: { readonly error: string; readonly delayMs: number; readonly now: number },
): QueuedDispatch | DeadLetterDispatch {
  if (dispatch.attemptCount + 1 >= dispatch.maxAttempts) return deadLetterDispatch(dispatch, error, now);
  return { ...requeue(dispatch, now), attemptCount: dispatch.attemptCount + 1, availableAt: now + delayMs, lastError: error };
}

export function deadLetterDispatch(dispatch: ClaimedDispatch, error: string, now: number): DeadLetterDispatch {
  const { claimToken: _token, claimedBy: _by, leaseUntil: _until, ...kept } = dispatch;
  return { ...kept, status: "dead-letter", attemptCount: failedOnce(dispatch), lastError: error, completedAt: now, updatedAt: now };
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
  const { claimToken: _token, claimedBy: _by, leaseUntil: _until, echo: _echo, ...kept } = dispatch;
  return { ...kept, status: "queued", updatedAt: now };
}

const failedOnce = (dispatch: ClaimedDispatch): number => Math.min(dispatch.attemptCount + 1, dispatch.maxAttempts);

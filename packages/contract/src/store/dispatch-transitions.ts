import type { DispatchId, RunId, ThreadId } from "../ids.ts";
import {
  type AckedDispatch,
  type ClaimedDispatch,
  DEFAULT_MAX_ATTEMPTS,
  DEFAULT_PRIORITY,
  type DeadLetterDispatch,
  DISPATCH_SCHEMA_VERSION,
  type DispatchEcho,
  type DispatchRecord,
  type DispatchResult,
  dispatchRecord,
  type QueuedDispatch,
} from "./dispatch-record.ts";
import { DONE_NATURALLY } from "./done-naturally.ts";

// The moves of one dispatch, as data in and data out: a store loads the row, moves it and writes it in one transaction. Those of the run that holds it; the others are in `dispatch-moves.ts`.

export interface NewDispatch {
  readonly dispatchId: DispatchId;
  readonly threadId: ThreadId;
  readonly runId: RunId;
  readonly priority?: number;
  readonly dedupeKey?: string;
  /** Not before this time; when absent now, or when the one that it stands behind was due at first, by the clock of whoever queued that. */
  readonly availableAt?: number;
  readonly maxAttempts?: number;
}

export interface Enqueued {
  readonly epoch: number;
  readonly now: number;
}

/** `storage_validation` when a field is out of range. */
export function queueDispatch(init: NewDispatch, enqueued: Enqueued): QueuedDispatch {
  const queued = queueVouched(init, enqueued);
  dispatchRecord.check(queued);
  return queued;
}

/** The same for what somebody vouches for: a composed commit. */
export function queueVouched(init: NewDispatch, { epoch, now }: Enqueued): QueuedDispatch {
  const { priority = DEFAULT_PRIORITY, maxAttempts = DEFAULT_MAX_ATTEMPTS, availableAt = now } = init;
  return {
    ...init,
    priority,
    maxAttempts,
    availableAt,
    epoch,
    schemaVersion: DISPATCH_SCHEMA_VERSION,
    status: "queued",
    attemptCount: 0,
    createdAt: now,
    updatedAt: now,
  };
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

export const isDispatchOver = (dispatch: DispatchRecord): boolean => dispatch.status !== "queued" && dispatch.status !== "claimed";

export function recordResult(dispatch: ClaimedDispatch, result: DispatchResult, now: number): ClaimedDispatch {
  return { ...dispatch, echo: resultEcho(dispatch, result), updatedAt: now };
}

const ENDED_NATURALLY: DispatchEcho = Object.freeze({ type: "result", result: DONE_NATURALLY });

function resultEcho({ echo }: ClaimedDispatch, result: DispatchResult): DispatchEcho {
  if (echo?.instanceId !== undefined) return { type: "result", instanceId: echo.instanceId, result };
  return result === DONE_NATURALLY ? ENDED_NATURALLY : { type: "result", result };
}

/** With a result it is recorded first. */
export function ackDispatch(dispatch: ClaimedDispatch, now: number, result?: DispatchResult): AckedDispatch {
  const echo = result === undefined ? dispatch.echo : resultEcho(dispatch, result);
  return { ...unclaimed(dispatch, echo), status: "acked", completedAt: now, updatedAt: now };
}

export function deadLetterDispatch(dispatch: ClaimedDispatch, error: string, now: number): DeadLetterDispatch {
  const kept = unclaimed(dispatch, dispatch.echo);
  return { ...kept, status: "dead-letter", attemptCount: failedOnce(dispatch), lastError: error, completedAt: now, updatedAt: now };
}

type Kept = Omit<AckedDispatch, "status" | "completedAt">;

/** Without its claim. Spelled out: of an object with some fields left out, the engine copies each of the others by its name. */
export function unclaimed(dispatch: ClaimedDispatch, echo: DispatchEcho | undefined): Kept {
  const { dedupeKey, lastError } = dispatch;
  const kept: { -readonly [Key in keyof Kept]: Kept[Key] } = {
    schemaVersion: dispatch.schemaVersion,
    dispatchId: dispatch.dispatchId,
    threadId: dispatch.threadId,
    runId: dispatch.runId,
    priority: dispatch.priority,
    epoch: dispatch.epoch,
    availableAt: dispatch.availableAt,
    attemptCount: dispatch.attemptCount,
    maxAttempts: dispatch.maxAttempts,
    createdAt: dispatch.createdAt,
    updatedAt: dispatch.updatedAt,
  };
  if (dedupeKey !== undefined) kept.dedupeKey = dedupeKey;
  if (lastError !== undefined) kept.lastError = lastError;
  if (echo !== undefined) kept.echo = echo;
  return kept;
}

const failedOnce = (dispatch: ClaimedDispatch): number => Math.min(dispatch.attemptCount + 1, dispatch.maxAttempts);

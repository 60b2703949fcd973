import type { DispatchId, RunId, ThreadId } from "../ids.ts";
import type { FinalTermination } from "../run.ts";
import * as s from "../schema/all.ts";
import { runIdSchema, threadIdSchema } from "../stored.ts";
import type { Termination } from "../termination.ts";
import { terminationSchema } from "../termination-schema.ts";
import { finalTerminationSchema } from "./final-termination.ts";
import { defineRecord } from "./record.ts";
import { countSchema, dispatchIdSchema, nonBlankSchema, positionSchema, timeSchema } from "./row-schemas.ts";

export const DISPATCH_SCHEMA_VERSION = 1;
export const DISPATCH_STATUSES = ["queued", "claimed", "acked", "cancelled", "superseded", "dead-letter"] as const;
export type DispatchStatus = (typeof DISPATCH_STATUSES)[number];

export const DEFAULT_PRIORITY = 128;
export const DEFAULT_MAX_ATTEMPTS = 5;

/**
 * How the run stood when the worker was through with it. `termination` of a waiting run says why this activation ended. A `response` is
 * for workers whose runs have no record that says it.
 */
export type DispatchResult =
  | { readonly type: "waiting"; readonly termination: Termination }
  | { readonly type: "done"; readonly termination: FinalTermination; readonly response?: string }
  /** The run could not be brought to an end; its record says less than this. */
  | { readonly type: "failed"; readonly error: string };

/** What the worker has told about the run so far. */
export type DispatchEcho =
  | { readonly type: "started"; readonly instanceId: string }
  | { readonly type: "result"; readonly instanceId?: string; readonly result: DispatchResult };

interface DispatchBody {
  readonly schemaVersion: typeof DISPATCH_SCHEMA_VERSION;
  readonly dispatchId: DispatchId;
  readonly threadId: ThreadId;
  readonly runId: RunId;
  /** 0 first, 255 last. */
  readonly priority: number;
  /** Unique among the dispatches of the thread that are not over. */
  readonly dedupeKey?: string;
  /** The thread's epoch when it was queued; an interrupt makes older ones void. */
  readonly epoch: number;
  readonly availableAt: number;
  /** Failures so far; never above `maxAttempts`. */
  readonly attemptCount: number;
  readonly maxAttempts: number;
  readonly lastError?: string;
  /** It was claimed and given back for later, by no fault of its own: it keeps its place among those that are queued. */
  readonly isPutBack?: boolean;
  /** By the clock of whoever queued it, or just after the one that it stands behind, if that clock says less. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface QueuedDispatch extends DispatchBody {
  readonly status: "queued";
}

export interface ClaimedDispatch extends DispatchBody {
  readonly status: "claimed";
  readonly claimToken: string;
  readonly claimedBy: string;
  readonly leaseUntil: number;
  readonly echo?: DispatchEcho;
}

export interface AckedDispatch extends DispatchBody {
  readonly status: "acked";
  readonly echo?: DispatchEcho;
  readonly completedAt: number;
}

export interface CancelledDispatch extends DispatchBody {
  readonly status: "cancelled";
  readonly completedAt: number;
}

export interface SupersededDispatch extends DispatchBody {
  readonly status: "superseded";
  readonly completedAt: number;
}

/** Without an echo when its lease ran out: nobody knows how far the run came. */
export interface DeadLetterDispatch extends DispatchBody {
  readonly status: "dead-letter";
  readonly echo?: DispatchEcho;
  readonly completedAt: number;
}

/** One entry of the durable queue. It holds no message and no agent: run record and log say what to do. */
export type DispatchRecord = QueuedDispatch | ClaimedDispatch | AckedDispatch | CancelledDispatch | SupersededDispatch | DeadLetterDispatch;

const resultSchema = s.taggedUnion("type", [
  s.strictObject({ type: s.literal("waiting"), termination: terminationSchema }),
  s.strictObject({ type: s.literal("done"), termination: finalTerminationSchema, response: s.exactOptional(s.string()) }),
  s.strictObject({ type: s.literal("failed"), error: s.string() }),
]);
const echoSchema = s.taggedUnion("type", [
  s.strictObject({ type: s.literal("started"), instanceId: nonBlankSchema }),
  s.strictObject({ type: s.literal("result"), instanceId: s.exactOptional(nonBlankSchema), result: resultSchema }),
]);

const body = {
  schemaVersion: s.literal(DISPATCH_SCHEMA_VERSION),
  dispatchId: dispatchIdSchema,
  threadId: threadIdSchema,
  runId: runIdSchema,
  priority: s.int().check(s.atLeast(0), s.atMost(255)),
  dedupeKey: s.exactOptional(nonBlankSchema),
  epoch: countSchema,
  availableAt: timeSchema,
  attemptCount: countSchema,
  maxAttempts: positionSchema,
  lastError: s.exactOptional(s.string()),
  isPutBack: s.exactOptional(s.boolean()),
  createdAt: timeSchema,
  updatedAt: timeSchema,
};
const over = { ...body, completedAt: timeSchema };

const dispatchSchema = s
  .taggedUnion("status", [
    s.strictObject({ ...body, status: s.literal("queued") }),
    s.strictObject({
      ...body,
      status: s.literal("claimed"),
      claimToken: nonBlankSchema,
      claimedBy: nonBlankSchema,
      leaseUntil: timeSchema,
      echo: s.exactOptional(echoSchema),
    }),
    s.strictObject({ ...over, status: s.literal("acked"), echo: s.exactOptional(echoSchema) }),
    s.strictObject({ ...over, status: s.literal("cancelled") }),
    s.strictObject({ ...over, status: s.literal("superseded") }),
    s.strictObject({ ...over, status: s.literal("dead-letter"), echo: s.exactOptional(echoSchema) }),
  ])
  .check(s.refine((dispatch) => dispatch.attemptCount <= dispatch.maxAttempts, "attemptCount must not be above maxAttempts"));

export const dispatchRecord = defineRecord<DispatchRecord>({
  name: "dispatch",
  version: DISPATCH_SCHEMA_VERSION,
  schema: dispatchSchema,
  accepts: s.guardOf<DispatchRecord>(dispatchSchema),
});

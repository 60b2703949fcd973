import * as z from "zod";
import type { DispatchId, RunId, ThreadId } from "../ids.ts";
import type { FinalTermination } from "../run.ts";
import { runIdSchema, terminationSchema, threadIdSchema } from "../stored.ts";
import type { Termination } from "../termination.ts";
import { defineRecord } from "./record.ts";
import { countSchema, dispatchIdSchema, finalTerminationSchema, nonBlankSchema, positionSchema, timeSchema } from "./schemas.ts";

export const DISPATCH_SCHEMA_VERSION = 1;
export const DISPATCH_STATUSES = ["queued", "claimed", "acked", "cancelled", "superseded", "dead-letter"] as const;
export type DispatchStatus = (typeof DISPATCH_STATUSES)[number];

export const DEFAULT_PRIORITY = 128;
export const DEFAULT_MAX_ATTEMPTS = 5;

/** How the run stood when the worker was through with it. `termination` of a waiting run says why this activation ended. */
export type DispatchResult =
  | { readonly type: "waiting"; readonly termination: Termination }
  | { readonly type: "done"; readonly termination: FinalTermination; readonly response: string }
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

const resultSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("waiting"), termination: terminationSchema }),
  z.strictObject({ type: z.literal("done"), termination: finalTerminationSchema, response: z.string() }),
  z.strictObject({ type: z.literal("failed"), error: z.string() }),
]);
const echoSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("started"), instanceId: nonBlankSchema }),
  z.strictObject({ type: z.literal("result"), instanceId: nonBlankSchema.exactOptional(), result: resultSchema }),
]);

const body = {
  schemaVersion: z.literal(DISPATCH_SCHEMA_VERSION),
  dispatchId: dispatchIdSchema,
  threadId: threadIdSchema,
  runId: runIdSchema,
  priority: z.int().min(0).max(255),
  dedupeKey: nonBlankSchema.exactOptional(),
  epoch: countSchema,
  availableAt: timeSchema,
  attemptCount: countSchema,
  maxAttempts: positionSchema,
  lastError: z.string().exactOptional(),
  createdAt: timeSchema,
  updatedAt: timeSchema,
};
const over = { ...body, completedAt: timeSchema };

export const dispatchRecord = defineRecord<DispatchRecord>({
  name: "dispatch",
  version: DISPATCH_SCHEMA_VERSION,
  schema: z
    .discriminatedUnion("status", [
      z.strictObject({ ...body, status: z.literal("queued") }),
      z.strictObject({
        ...body,
        status: z.literal("claimed"),
        claimToken: nonBlankSchema,
        claimedBy: nonBlankSchema,
        leaseUntil: timeSchema,
        echo: echoSchema.exactOptional(),
      }),
      z.strictObject({ ...over, status: z.literal("acked"), echo: echoSchema.exactOptional() }),
      z.strictObject({ ...over, status: z.literal("cancelled") }),
      z.strictObject({ ...over, status: z.literal("superseded") }),
      z.strictObject({ ...over, status: z.literal("dead-letter"), echo: echoSchema.exactOptional() }),
    ])
    .refine((dispatch) => dispatch.attemptCount <= dispatch.maxAttempts, "attemptCount must not be above maxAttempts"),
});

import type { MessageId, RunId, ThreadId } from "../ids.ts";
import type { Message } from "../message.ts";
import * as s from "../schema/all.ts";
import { runIdSchema, threadIdSchema } from "../stored.ts";
import { messageSchema } from "./message-schema.ts";
import { defineRecord } from "./record.ts";
import { messageIdSchema, positionSchema, timeSchema } from "./row-schemas.ts";

export const PENDING_SCHEMA_VERSION = 1;

/** Points where a pending message may enter a run, the earliest first; `resume-input` stands apart. */
export const BOUNDARIES = ["interrupt", "next-step", "on-natural-end", "resume-input", "new-run"] as const;
export type Boundary = (typeof BOUNDARIES)[number];

export interface DeliveryMode {
  readonly boundary: Boundary;
  /** `one` enters alone. */
  readonly granularity: "one" | "batch";
  /** Nothing behind it enters before it does. */
  readonly barrier: boolean;
  readonly targetRunId?: RunId;
  /** Whether a new run may take it when the run that it was meant for did not. */
  readonly fallbackToNewRun: boolean;
}

export const DEFAULT_DELIVERY: DeliveryMode = /* @__PURE__ */ Object.freeze({
  boundary: "new-run",
  granularity: "batch",
  barrier: false,
  fallbackToNewRun: true,
});

/** A message that the model has not read yet; until then it may be edited, retracted and moved. */
export interface PendingRecord {
  readonly schemaVersion: typeof PENDING_SCHEMA_VERSION;
  readonly pendingId: MessageId;
  readonly threadId: ThreadId;
  /** 1-based, without gaps. */
  readonly position: number;
  readonly message: Message;
  /** Starts at 1, rises with each edit. */
  readonly revision: number;
  readonly deliveryMode: DeliveryMode;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const hasMark = ({ metadata }: Message): boolean => metadata?.compaction !== undefined || metadata?.rewind !== undefined;

const pendingSchema = /* @__PURE__ */ s
  .strictObject({
    schemaVersion: s.literal(PENDING_SCHEMA_VERSION),
    pendingId: messageIdSchema,
    threadId: threadIdSchema,
    position: positionSchema,
    message: messageSchema,
    revision: positionSchema,
    deliveryMode: s.strictObject({
      boundary: s.enum(BOUNDARIES),
      granularity: s.enum(["one", "batch"]),
      barrier: s.boolean(),
      targetRunId: s.exactOptional(runIdSchema),
      fallbackToNewRun: s.boolean(),
    }),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .check(
    s.refine(({ pendingId, message }) => pendingId === message.id, "the pending id must be the id of the message"),
    s.refine(({ message }) => !hasMark(message), "a pending message cannot be a summary or a rewind"),
  );

export const pendingRecord = defineRecord<PendingRecord>({
  name: "pending message",
  version: PENDING_SCHEMA_VERSION,
  schema: pendingSchema,
  accepts: s.guardOf<PendingRecord>(pendingSchema),
});

const RANK: Readonly<Record<Boundary, number>> = { interrupt: 0, "next-step": 1, "on-natural-end": 2, "resume-input": -1, "new-run": 3 };

function isEligible({ boundary, targetRunId, fallbackToNewRun }: DeliveryMode, at: Boundary, runId: RunId): boolean {
  // What this very run was started for, and something in front kept from entering when it began.
  if (at === "on-natural-end" && boundary === "new-run" && targetRunId === runId) return true;
  const isApart = boundary === "resume-input" || at === "resume-input";
  if (isApart ? boundary !== at : RANK[boundary] > RANK[at]) return false;
  return targetRunId === undefined || targetRunId === runId || (at === "new-run" && fallbackToNewRun);
}

/**
 * What is for another run, or waits for another kind of boundary, steps aside: it may never come, and must not hold back the others. A barrier
 * does, and so does what may still enter a run like this one. The specification lets what is for another run stop the walk; here runs of one
 * thread overtake each other by priority and retries, and each has messages of its own, so that would leave theirs unread for ever.
 */
function stepsAside({ boundary, barrier, targetRunId, fallbackToNewRun }: DeliveryMode, at: Boundary, runId: RunId): boolean {
  if (barrier) return false;
  if (targetRunId !== undefined && targetRunId !== runId) return true;
  if (at === "new-run") return !fallbackToNewRun;
  return at === "resume-input" || boundary === "new-run";
}

/** What enters `runId` at this boundary, first in first out. `entries` are the whole queue by position. */
export function selectPending(entries: readonly PendingRecord[], at: Boundary, runId: RunId): readonly PendingRecord[] {
  const taken: PendingRecord[] = [];
  let hasSkipped = false;
  for (const entry of entries) {
    const mode = entry.deliveryMode;
    if (!isEligible(mode, at, runId)) {
      if (!stepsAside(mode, at, runId)) break;
      hasSkipped = true;
      continue;
    }
    if (mode.barrier && hasSkipped) break;
    if (mode.granularity === "one" && taken.length > 0) break;
    taken.push(entry);
    if (mode.barrier || mode.granularity === "one") break;
  }
  return taken;
}

export interface NewPending {
  readonly message: Message;
  /** Fields that are left out are those of `DEFAULT_DELIVERY`. */
  readonly deliveryMode?: Partial<DeliveryMode>;
}

export interface PendingEdit {
  readonly revision: number;
  readonly message?: Message;
  readonly deliveryMode?: Partial<DeliveryMode>;
}

/** The queue as it was read; `revision` is its `queueRevision`. */
export interface PendingQueue {
  readonly entries: readonly PendingRecord[];
  readonly revision: string;
}

/**
 * Messages that wait. Consuming them is a part of a commit. An id that is in the log already is `already_consumed`, an unknown one
 * `storage_not_found`, a stale revision `version_conflict`; each method is one transaction and leaves no gap in the positions.
 */
export interface PendingStore {
  /** At the end of the queue, in this order. An id that is pending already is `storage_already_exists`. */
  append(threadId: ThreadId, messages: readonly NewPending[]): Promise<readonly PendingRecord[]>;

  /** Empty for an unknown thread. */
  load(threadId: ThreadId): Promise<PendingQueue>;

  update(threadId: ThreadId, id: MessageId, edit: PendingEdit): Promise<PendingRecord>;

  retract(threadId: ThreadId, id: MessageId, revision: number): Promise<void>;

  /** `order` names every entry once, else `storage_validation`. */
  reorder(threadId: ThreadId, order: readonly MessageId[], revision: string): Promise<PendingQueue>;

  /** Threads with pending messages, no queued or claimed dispatch and no running run, by their ids and behind `after`: they need a dispatch. */
  listUnattended(limit?: number, after?: string): Promise<readonly ThreadId[]>;
}

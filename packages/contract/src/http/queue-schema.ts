import * as s from "../schema/all.ts";
import { countSchema, nonBlankSchema, timeSchema } from "../store/row-schemas.ts";
import { runIdSchema, threadIdSchema } from "../stored.ts";

const entry = {
  threadId: threadIdSchema,
  /** Messages of the thread that no run has read. */
  pending: countSchema,
  /** When it came into the queue; of messages alone, when the first of them was sent. */
  createdAt: timeSchema,
};
const work = { ...entry, runId: runIdSchema, priority: countSchema, attempts: countSchema, maxAttempts: countSchema };

/** What waits for a worker or is with one, and messages that wait on a thread where nothing is queued. */
export const queueEntrySchema = s.named(
  "QueueEntry",
  s.taggedUnion("status", [
    s.strictObject({ ...work, status: s.literal("queued"), availableAt: timeSchema }),
    s.strictObject({ ...work, status: s.literal("claimed"), leaseUntil: timeSchema, claimedBy: nonBlankSchema }),
    s.strictObject({ ...entry, status: s.literal("pending") }),
  ]),
);

export const queuePageSchema = s.strictObject({
  items: s.array(queueEntrySchema),
  hasMore: s.boolean(),
  nextCursor: s.exactOptional(s.string()),
  deadLetters: countSchema,
});

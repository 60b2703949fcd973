import * as s from "../schema/all.ts";
import { type PersistedState, STATE_SCHEMA_VERSION } from "../state.ts";
import { threadIdSchema } from "../stored.ts";
import { endsBefore } from "./message-delta.ts";
import { messageSchema } from "./message-schema.ts";
import { defineRecord } from "./record.ts";
import { persistedStateSchema } from "./record-pieces.ts";
import { positionSchema, timeSchema } from "./row-schemas.ts";
import { threadKind } from "./thread.ts";
import { MESSAGE_SCHEMA_VERSION, type MessageRecord, type ThreadRecord } from "./thread-projection.ts";

// What stores read of a thread. Runs write without it.

export const threadRecord = defineRecord<ThreadRecord>(threadKind);

/** The thread-scoped state, one row per thread. */
export const threadState = defineRecord<PersistedState>({
  name: "thread state",
  version: STATE_SCHEMA_VERSION,
  schema: persistedStateSchema,
  accepts: s.guardOf<PersistedState>(persistedStateSchema),
});

export const rowSchema = /* @__PURE__ */ s
  .strictObject({
    schemaVersion: s.literal(MESSAGE_SCHEMA_VERSION),
    threadId: threadIdSchema,
    seq: positionSchema,
    createdAt: timeSchema,
    message: messageSchema,
  })
  .check(
    s.refine((record) => endsBefore(record.message, record.seq), "a mark must be about rows before its own, and a rewind must be internal"),
  );

export const messageRecord = defineRecord<MessageRecord>({
  name: "message",
  version: MESSAGE_SCHEMA_VERSION,
  schema: rowSchema,
  accepts: s.guardOf<MessageRecord>(rowSchema),
});

import type { Message } from "../message.ts";
import * as s from "../schema/all.ts";
import type { Schema } from "../schema.ts";
import { jsonValueSchema, toolCallIdSchema } from "../stored.ts";
import { taskEventSchema } from "../task.ts";
import {
  call,
  hasUniqueCalls,
  mediaSchemas,
  metadata,
  part,
  reasoningSchema,
  result,
  textSchema,
  userContentListSchema,
} from "./content-schema.ts";
import { messageIdSchema, nonBlankSchema, positionSchema, rangeSchema } from "./row-schemas.ts";

const assistantContentSchema = s.taggedUnion("type", [
  textSchema,
  ...mediaSchemas,
  reasoningSchema,
  s.strictObject({ ...call, executed: s.exactOptional(s.literal("provider")) }),
  s.strictObject({
    ...part,
    type: s.literal("tool-result"),
    id: toolCallIdSchema,
    name: nonBlankSchema,
    output: jsonValueSchema,
    isError: s.exactOptional(s.boolean()),
  }),
]);

const metadataSchema = s.strictObject({
  ...metadata,
  clientId: s.exactOptional(messageIdSchema),
  task: s.exactOptional(taskEventSchema),
  compaction: s.exactOptional(rangeSchema),
  rewind: s.exactOptional(s.strictObject({ fromSeq: positionSchema })),
});
const toolMetadataSchema = s.strictObject({
  ...metadata,
  callMessageId: s.exactOptional(messageIdSchema),
  edited: s.exactOptional(s.strictObject({ input: jsonValueSchema, by: s.exactOptional(s.string()) })),
});
const entry = { id: messageIdSchema, visibility: s.exactOptional(s.literal("internal")) };
const entryWithMark = { ...entry, metadata: s.exactOptional(metadataSchema) };

/**
 * The shape rules of one message: only `tool` has a call id, only `assistant` has calls, ids are non-blank.
 * A result cannot be a summary, so that folding never makes an orphan of it.
 */
export const messageSchema = s
  .taggedUnion("role", [
    s.strictObject({ ...entryWithMark, role: s.literal("system"), content: s.array(textSchema) }),
    s.strictObject({ ...entryWithMark, role: s.literal("user"), content: userContentListSchema }),
    s.strictObject({ ...entryWithMark, role: s.literal("assistant"), content: s.array(assistantContentSchema) }),
    s.strictObject({
      ...entry,
      metadata: s.exactOptional(toolMetadataSchema),
      ...result,
      status: s.enum(["success", "error", "pending"]),
    }),
  ])
  .check(s.refine(hasUniqueCalls, "tool call ids must be unique within the message")) satisfies Schema<Message>;

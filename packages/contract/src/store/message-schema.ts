import type { AssistantContent, MediaSource, ProviderMetadata } from "../content.ts";
import { isJsonObject } from "../json.ts";
import type { Message } from "../message.ts";
import * as s from "../schema/all.ts";
import type { Schema } from "../schema.ts";
import { jsonValueSchema, runIdSchema, toolCallIdSchema } from "../stored.ts";
import { taskEventSchema } from "../task.ts";
import { countSchema, messageIdSchema, nonBlankSchema, positionSchema, rangeSchema } from "./schemas.ts";
import { areUnique } from "./unique.ts";

const providerMetadataSchema = s.custom<ProviderMetadata>(
  (value) => isJsonObject(value) && Object.values(value).every(isJsonObject),
  "expected an object of objects, by provider",
);
const part = { providerMetadata: s.exactOptional(providerMetadataSchema) };

const sourceSchema = s.taggedUnion("type", [
  s.strictObject({ type: s.literal("base64"), mediaType: nonBlankSchema, data: s.string() }),
  s.strictObject({ type: s.literal("url"), url: nonBlankSchema, mediaType: s.exactOptional(s.string()) }),
]) satisfies Schema<MediaSource>;

const textSchema = s.strictObject({ ...part, type: s.literal("text"), text: s.string() });
export const mediaSchemas = [
  s.strictObject({ ...part, type: s.literal("image"), source: sourceSchema }),
  s.strictObject({ ...part, type: s.literal("audio"), source: sourceSchema }),
  s.strictObject({ ...part, type: s.literal("video"), source: sourceSchema }),
  s.strictObject({ ...part, type: s.literal("document"), source: sourceSchema, title: s.exactOptional(s.string()) }),
] as const;

const userContentSchema = s.taggedUnion("type", [textSchema, ...mediaSchemas]);
export const userContentListSchema = s.array(userContentSchema);
const assistantContentSchema = s.taggedUnion("type", [
  textSchema,
  ...mediaSchemas,
  s.strictObject({ ...part, type: s.literal("reasoning"), text: s.string(), signature: s.exactOptional(s.string()) }),
  s.strictObject({
    ...part,
    type: s.literal("tool-call"),
    id: toolCallIdSchema,
    name: nonBlankSchema,
    input: jsonValueSchema,
    executed: s.exactOptional(s.literal("provider")),
  }),
  s.strictObject({
    ...part,
    type: s.literal("tool-result"),
    id: toolCallIdSchema,
    name: nonBlankSchema,
    output: jsonValueSchema,
    isError: s.exactOptional(s.boolean()),
  }),
]);

const metadata = {
  runId: s.exactOptional(runIdSchema),
  stepIndex: s.exactOptional(countSchema),
  senderAgentId: s.exactOptional(s.string()),
};
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

const callId = (content: AssistantContent): string | undefined => (content.type === "tool-call" ? content.id : undefined);

/** Call ids are unique among all calls of one message, the vendor's included. */
const hasUniqueCalls = (message: Message): boolean => message.role !== "assistant" || areUnique(message.content, callId);

/**
 * The shape rules of one message: only `tool` has a call id, only `assistant` has calls, ids are non-blank.
 * A result cannot be a summary, so that folding never makes an orphan of it.
 */
export const messageSchema = s
  .taggedUnion("role", [
    s.strictObject({ ...entryWithMark, role: s.literal("system"), content: s.array(textSchema) }),
    s.strictObject({ ...entryWithMark, role: s.literal("user"), content: s.array(userContentSchema) }),
    s.strictObject({ ...entryWithMark, role: s.literal("assistant"), content: s.array(assistantContentSchema) }),
    s.strictObject({
      ...entry,
      metadata: s.exactOptional(toolMetadataSchema),
      role: s.literal("tool"),
      toolCallId: toolCallIdSchema,
      toolName: nonBlankSchema,
      status: s.enum(["success", "error", "pending"]),
      content: s.array(userContentSchema),
    }),
  ])
  .check(s.refine(hasUniqueCalls, "tool call ids must be unique within the message")) satisfies Schema<Message>;

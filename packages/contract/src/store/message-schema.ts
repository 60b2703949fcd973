import * as z from "zod";
import type { MediaSource, ProviderMetadata } from "../content.ts";
import { isJsonObject } from "../json.ts";
import type { Message } from "../message.ts";
import type { Schema } from "../schema.ts";
import { jsonObjectSchema, jsonValueSchema, runIdSchema, toolCallIdSchema } from "../stored.ts";
import type { ToolResult } from "../tool.ts";
import { countSchema, messageIdSchema, nonBlankSchema, rangeSchema, suspensionSchema } from "./schemas.ts";

const providerMetadataSchema = z.custom<ProviderMetadata>(
  (value) => isJsonObject(value) && Object.values(value).every(isJsonObject),
  "expected an object of objects, by provider",
);
const part = { providerMetadata: providerMetadataSchema.exactOptional() };

const sourceSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("base64"), mediaType: nonBlankSchema, data: z.string() }),
  z.strictObject({ type: z.literal("url"), url: nonBlankSchema, mediaType: z.string().exactOptional() }),
]) satisfies Schema<MediaSource>;

const textSchema = z.strictObject({ ...part, type: z.literal("text"), text: z.string() });
const mediaSchemas = [
  z.strictObject({ ...part, type: z.literal("image"), source: sourceSchema }),
  z.strictObject({ ...part, type: z.literal("audio"), source: sourceSchema }),
  z.strictObject({ ...part, type: z.literal("video"), source: sourceSchema }),
  z.strictObject({ ...part, type: z.literal("document"), source: sourceSchema, title: z.string().exactOptional() }),
] as const;

const userContentSchema = z.discriminatedUnion("type", [textSchema, ...mediaSchemas]);
const assistantContentSchema = z.discriminatedUnion("type", [
  textSchema,
  ...mediaSchemas,
  z.strictObject({ ...part, type: z.literal("reasoning"), text: z.string(), signature: z.string().exactOptional() }),
  z.strictObject({
    ...part,
    type: z.literal("tool-call"),
    id: toolCallIdSchema,
    name: nonBlankSchema,
    input: jsonValueSchema,
    executed: z.literal("provider").exactOptional(),
  }),
  z.strictObject({
    ...part,
    type: z.literal("tool-result"),
    id: toolCallIdSchema,
    name: nonBlankSchema,
    output: jsonValueSchema,
    isError: z.boolean().exactOptional(),
  }),
]);

const metadata = {
  runId: runIdSchema.exactOptional(),
  stepIndex: countSchema.exactOptional(),
  senderAgentId: z.string().exactOptional(),
};
const metadataSchema = z.strictObject({ ...metadata, compaction: rangeSchema.exactOptional() });
const entry = { id: messageIdSchema, visibility: z.literal("internal").exactOptional() };
const entryWithMark = { ...entry, metadata: metadataSchema.exactOptional() };

/** Call ids are unique among all calls of one message, the vendor's included. */
function hasUniqueCalls(message: Message): boolean {
  if (message.role !== "assistant") return true;
  const ids = message.content.flatMap((content) => (content.type === "tool-call" ? [content.id] : []));
  return new Set(ids).size === ids.length;
}

/**
 * The shape rules of one message: only `tool` has a call id, only `assistant` has calls, ids are non-blank.
 * A result cannot be a summary, so that folding never makes an orphan of it.
 */
export const messageSchema = z
  .discriminatedUnion("role", [
    z.strictObject({ ...entryWithMark, role: z.literal("system"), content: z.array(textSchema) }),
    z.strictObject({ ...entryWithMark, role: z.literal("user"), content: z.array(userContentSchema) }),
    z.strictObject({ ...entryWithMark, role: z.literal("assistant"), content: z.array(assistantContentSchema) }),
    z.strictObject({
      ...entry,
      metadata: z.strictObject(metadata).exactOptional(),
      role: z.literal("tool"),
      toolCallId: toolCallIdSchema,
      toolName: nonBlankSchema,
      status: z.enum(["success", "error", "pending"]),
      content: z.array(userContentSchema),
    }),
  ])
  .refine(hasUniqueCalls, "tool call ids must be unique within the message") satisfies Schema<Message>;

const resultBase = { message: z.string().exactOptional(), metadata: jsonObjectSchema.exactOptional() };

export const toolResultSchema = z.discriminatedUnion("type", [
  z.strictObject({
    ...resultBase,
    type: z.literal("success"),
    data: jsonValueSchema,
    media: z.array(z.discriminatedUnion("type", mediaSchemas)).exactOptional(),
  }),
  z.strictObject({
    ...resultBase,
    type: z.literal("error"),
    code: z.string(),
    message: z.string(),
    data: jsonValueSchema.exactOptional(),
  }),
  z.strictObject({ ...resultBase, type: z.literal("pending"), suspension: suspensionSchema }),
]) satisfies Schema<ToolResult>;

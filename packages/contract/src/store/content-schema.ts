import type { AssistantContent, MediaSource, ProviderMetadata } from "../content.ts";
import { AROUND_VALUES, isJsonObject } from "../json.ts";
import type { Message } from "../message.ts";
import * as s from "../schema/all.ts";
import type { Schema } from "../schema.ts";
import { jsonValueSchema, runIdSchema, toolCallIdSchema } from "../stored-values.ts";
import { countSchema, messageIdSchema, nonBlankSchema } from "./schemas.ts";
import { areUnique } from "./unique.ts";

const providerMetadataSchema = s.custom<ProviderMetadata>(
  (value) => isJsonObject(value) && Object.values(value).every(isJsonObject),
  "expected an object of objects, by provider",
);
export const part = { providerMetadata: s.exactOptional(providerMetadataSchema) };

const sourceSchema = s.taggedUnion("type", [
  s.strictObject({ type: s.literal("base64"), mediaType: nonBlankSchema, data: s.string() }),
  s.strictObject({ type: s.literal("url"), url: nonBlankSchema, mediaType: s.exactOptional(s.string()) }),
]) satisfies Schema<MediaSource>;

export const textSchema = s.strictObject({ ...part, type: s.literal("text"), text: s.string() });
export const mediaSchemas = [
  s.strictObject({ ...part, type: s.literal("image"), source: sourceSchema }),
  s.strictObject({ ...part, type: s.literal("audio"), source: sourceSchema }),
  s.strictObject({ ...part, type: s.literal("video"), source: sourceSchema }),
  s.strictObject({ ...part, type: s.literal("document"), source: sourceSchema, title: s.exactOptional(s.string()) }),
] as const;

const userContentSchema = s.taggedUnion("type", [textSchema, ...mediaSchemas]);
export const userContentListSchema = s.array(userContentSchema);
/** What a caller says in parts, as it stands in his message. */
export const userPartsSchema = s.strictObject({ content: userContentListSchema });

export const reasoningSchema = s.strictObject({
  ...part,
  type: s.literal("reasoning"),
  text: s.string(),
  signature: s.exactOptional(s.string()),
});
export const call = { ...part, type: s.literal("tool-call"), id: toolCallIdSchema, name: nonBlankSchema, input: jsonValueSchema };
export const metadata = {
  runId: s.exactOptional(runIdSchema),
  stepIndex: s.exactOptional(countSchema),
  senderAgentId: s.exactOptional(s.string()),
};
export const result = { role: s.literal("tool"), toolCallId: toolCallIdSchema, toolName: nonBlankSchema, content: userContentListSchema };

const callId = (content: AssistantContent): string | undefined => (content.type === "tool-call" ? content.id : undefined);

/** Call ids are unique among all calls of one message, the vendor's included. */
export const hasUniqueCalls = (message: Message): boolean => message.role !== "assistant" || areUnique(message.content, callId);

const plain = { id: messageIdSchema, metadata: s.exactOptional(s.strictObject(metadata)) };
const plainSchema = s.taggedUnion("role", [
  s.strictObject({ ...plain, role: s.literal("user"), content: userContentListSchema }),
  s.strictObject({
    ...plain,
    role: s.literal("assistant"),
    content: s.array(s.taggedUnion("type", [textSchema, reasoningSchema, s.strictObject(call)])),
  }),
  s.strictObject({ ...plain, ...result, status: s.enum(["success", "error"]) }),
]);

const idOf = (message: Message): string => message.id;

/**
 * Said in text and calls, about nothing but where it comes from, as most is: such messages may be appended. Others are checked by
 * `checkMessageDelta`.
 */
export function arePlainMessages(messages: readonly Message[]): boolean {
  for (const message of messages) if (!plainSchema.fits(message, AROUND_VALUES) || !hasUniqueCalls(message)) return false;
  return areUnique(messages, idOf);
}

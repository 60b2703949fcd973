import type { AssistantContent, MediaContent } from "../content.ts";
import { isJson, isJsonObject } from "../json.ts";
import type { Message } from "../message.ts";
import {
  areUnique,
  type Check,
  is,
  isBoolean,
  isCount,
  isJsonValue,
  isObject,
  isString,
  isText,
  listOf,
  oneOf,
  refined,
  shape,
  tagged,
} from "./shape.ts";
import { isRange, isSuspension } from "./shapes.ts";

// The twin of `message-schema.ts`.

const providerMetadata: Check = (value, depth) => {
  if (!isJsonObject(value) || !isJson(value, depth)) return false;
  for (const provider in value) if (!isJsonObject(value[provider])) return false;
  return true;
};
const part = { providerMetadata };
const type = isString;

const source = tagged("type", {
  base64: shape({ type, mediaType: isText, data: isString }),
  url: shape({ type, url: isText }, { mediaType: isString }),
});

const text = shape({ type: is("text"), text: isString }, part);
const image = shape({ type, source }, part);
const document = shape({ type, source }, { ...part, title: isString });
const media = { image, audio: image, video: image, document };
const userContent = tagged("type", { text, ...media });
const mediaList = listOf(tagged("type", media));
const assistantContent = tagged("type", {
  text,
  ...media,
  reasoning: shape({ type, text: isString }, { ...part, signature: isString }),
  "tool-call": shape({ type, id: isText, name: isText, input: isJsonValue }, { ...part, executed: is("provider") }),
  "tool-result": shape({ type, id: isText, name: isText, output: isJsonValue }, { ...part, isError: isBoolean }),
});

const callId = (content: AssistantContent): string | undefined => (content.type === "tool-call" ? content.id : undefined);
const assistantContents = refined(listOf(assistantContent), (content: readonly AssistantContent[]) => areUnique(content, callId));

const metadata = { runId: isText, stepIndex: isCount, senderAgentId: isString };
const entry = { visibility: is("internal"), metadata: shape({}, { ...metadata, compaction: isRange }) };

const message = tagged("role", {
  system: shape({ id: isText, role: isString, content: listOf(text) }, entry),
  user: shape({ id: isText, role: isString, content: listOf(userContent) }, entry),
  assistant: shape({ id: isText, role: isString, content: assistantContents }, entry),
  tool: shape(
    {
      id: isText,
      role: isString,
      toolCallId: isText,
      toolName: isText,
      status: oneOf(["success", "error", "pending"]),
      content: listOf(userContent),
    },
    { ...entry, metadata: shape({}, metadata) },
  ),
});

export const isMediaList = (value: unknown): value is readonly MediaContent[] => mediaList(value, 0);

export const isMessage = (value: unknown, depth: number): value is Message => message(value, depth);

const result = { message: isString, metadata: isObject };

export const isPendingResult = shape({ type: is("pending"), suspension: isSuspension }, result);
/** Of a call that is over. */
export const isFinalResult = tagged("type", {
  success: shape({ type, data: isJsonValue }, { ...result, media: mediaList }),
  error: shape({ type, code: isString, message: isString }, { metadata: isObject, data: isJsonValue }),
});

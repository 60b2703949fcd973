import type { AssistantContent } from "../content.ts";
import type { Message } from "../message.ts";
import { areUnique, is, isBoolean, isCount, isJsonValue, isObject, isPosition, isString, isText, listOf, mapOf, oneOf, shape, tagged } from "./shape.ts";
import type { ToolResult } from "../tool.ts";
import { isSuspension } from "./record-shapes.ts";

// The twin of `message-schema.ts`.

const part = { providerMetadata: mapOf(isObject) };
const source = tagged("type", {
  base64: shape({ type: is("base64"), mediaType: isText, data: isString }),
  url: shape({ type: is("url"), url: isText }, { mediaType: isString }),
});

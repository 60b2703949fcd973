import {
  copyJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaContent,
  RESUME_MODES,
  type Suspension,
  type ToolResult,
} from "@awaken/contract";
import { isMediaList } from "@awaken/contract/store";
import { plainData } from "./plain-data.ts";
import { wholeJson } from "./tool-data.ts";

const plainCopy = (giver: string, value: unknown): JsonValue => copyJson(wholeJson(giver, value));

function checkTexts(giver: string, texts: { readonly [name: string]: unknown }): void {
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined && typeof text !== "string") throw new TypeError(`${giver}: '${name}' must be a string, got ${typeof text}`);
  }
}

function plainObject(giver: string, name: string, value: unknown): JsonObject {
  const json = plainCopy(giver, value);
  if (!isJsonObject(json)) throw new TypeError(`${giver}: '${name}' must be an object`);
  return json;
}

export function plainSuspension(giver: string, given: Suspension): Suspension {
  const { id, action, message, parameters, responseSchema, resumeMode, canEdit, expiresInMs } = given;
  if (typeof action !== "string") throw new TypeError(`${giver}: a suspension needs an action`);
  checkTexts(giver, { id, message });
  if (resumeMode !== undefined && !RESUME_MODES.includes(resumeMode))
    throw new TypeError(`${giver}: unknown resume mode ${String(resumeMode)}`);
  if (canEdit !== undefined && typeof canEdit !== "boolean") throw new TypeError(`${giver}: 'canEdit' must be true or false`);
  if (expiresInMs !== undefined && !(Number.isFinite(expiresInMs) && expiresInMs > 0))
    throw new TypeError(`${giver}: 'expiresInMs' must be a number of milliseconds above 0`);
  return {
    action,
    ...(message === undefined ? {} : { message }),
    ...(parameters === undefined ? {} : { parameters: plainCopy(giver, parameters) }),
    ...(responseSchema === undefined ? {} : { responseSchema: plainObject(giver, "responseSchema", responseSchema) }),
    ...(resumeMode === undefined ? {} : { resumeMode }),
    ...(canEdit === undefined ? {} : { canEdit }),
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
  };
}

/** Of known fields alone: what is stored with the call must be read again by anybody. */
export function plainResult(giver: string, given: ToolResult): ToolResult {
  const data = plainData(given);
  if (data !== undefined) return data;
  const { message } = given;
  checkTexts(giver, { message });
  const more = {
    ...(message === undefined ? {} : { message }),
    ...(given.metadata === undefined ? {} : { metadata: plainObject(giver, "metadata", given.metadata) }),
  };
  switch (given.type) {
    case "success":
      return {
        type: "success",
        data: plainCopy(giver, given.data),
        ...more,
        ...(given.media === undefined ? {} : { media: plainMedia(giver, given.media) }),
      };
    case "error": {
      const { code } = given;
      checkTexts(giver, { code: code ?? null, message: message ?? null });
      return {
        type: "error",
        code,
        ...more,
        message: given.message,
        ...(given.data === undefined ? {} : { data: plainCopy(giver, given.data) }),
      };
    }
    case "pending":
      return { type: "pending", suspension: plainSuspension(giver, given.suspension), ...more };
    default:
      throw new TypeError(`${giver}: a tool result must be success, error or pending`);
  }
}

function plainMedia(giver: string, given: readonly MediaContent[]): readonly MediaContent[] {
  const media = plainCopy(giver, given);
  if (isMediaList(media)) return media;
  throw new TypeError(`${giver}: 'media' must be a list of images, documents, audio or video, each with its source`);
}

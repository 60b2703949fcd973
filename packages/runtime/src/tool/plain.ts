import {
  isJson,
  isJsonObject,
  isMediaList,
  type JsonObject,
  type JsonValue,
  type MediaContent,
  RESUME_MODES,
  type Suspension,
  type ToolResult,
  toJson,
} from "@awaken/contract";
import type { Verdict } from "./verdict.ts";

// Tools and gates may come from untyped code. What they hand in is stored, shown to people and read back by other processes, so it is
// made plain here, or refused with a TypeError.

function checkTexts(what: string, texts: { readonly [name: string]: unknown }): void {
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined && typeof text !== "string") throw new TypeError(`${what}: '${name}' must be a string, got ${typeof text}`);
  }
}

/** What is nested too deeply could be written, but not read again. */
function plainJson(value: unknown): JsonValue {
  if (isJson(value)) return value;
  const json = toJson(value);
  if (isJson(json)) return json;
  throw new TypeError("a value is nested too deeply");
}

function plainObject(name: string, value: unknown): JsonObject {
  const json = plainJson(value);
  if (!isJsonObject(json)) throw new TypeError(`'${name}' must be an object`);
  return json;
}

export function plainSuspension(given: Suspension): Suspension {
  const { id, action, message, parameters, responseSchema, resumeMode } = given;
  if (typeof action !== "string") throw new TypeError("a suspension needs an action");
  checkTexts("suspension", { id, message });
  if (resumeMode !== undefined && !RESUME_MODES.includes(resumeMode)) throw new TypeError(`unknown resume mode ${String(resumeMode)}`);
  return {
    action,
    ...(id === undefined ? {} : { id }),
    ...(message === undefined ? {} : { message }),
    ...(parameters === undefined ? {} : { parameters: plainJson(parameters) }),
    ...(responseSchema === undefined ? {} : { responseSchema: plainObject("responseSchema", responseSchema) }),
    ...(resumeMode === undefined ? {} : { resumeMode }),
  };
}

/** Of known fields alone: what is stored with the call must be read again by anybody. */
export function plainResult(given: ToolResult): ToolResult {
  const { message } = given;
  // What most tools give, and the least to look at.
  if (given.type === "success" && message === undefined && given.metadata === undefined && given.media === undefined)
    return { type: "success", data: plainJson(given.data) };
  checkTexts("tool result", { message });
  const more = {
    ...(message === undefined ? {} : { message }),
    ...(given.metadata === undefined ? {} : { metadata: plainObject("metadata", given.metadata) }),
  };
  switch (given.type) {
    case "success":
      return {
        type: "success",
        data: plainJson(given.data),
        ...more,
        ...(given.media === undefined ? {} : { media: plainMedia(given.media) }),
      };
    case "error": {
      const { code } = given;
      checkTexts("tool result", { code: code ?? null, message: message ?? null });
      return { type: "error", code, ...more, message: given.message, ...(given.data === undefined ? {} : { data: plainJson(given.data) }) };
    }
    case "pending":
      return { type: "pending", suspension: plainSuspension(given.suspension), ...more };
    default:
      throw new TypeError("a tool result must be success, error or pending");
  }
}

function plainMedia(given: readonly MediaContent[]): readonly MediaContent[] {
  const media = plainJson(given);
  if (isMediaList(media)) return media;
  throw new TypeError("'media' must be a list of images, documents, audio or video, each with its source");
}

export function plainVerdict(given: Verdict): Verdict {
  switch (given.type) {
    case "allow":
      return given;
    case "block":
      return { type: "block", reason: String(given.reason) };
    case "suspend":
      return { type: "suspend", suspension: plainSuspension(given.suspension) };
    case "answer":
      return { type: "answer", result: plainResult(given.result) };
    default:
      // What is not understood must not let the tool run.
      throw new TypeError(`unknown verdict ${JSON.stringify(given)}`);
  }
}

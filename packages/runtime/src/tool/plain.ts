import {
  isJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
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

export function plainResult(given: ToolResult): ToolResult {
  checkTexts("tool result", { message: given.message });
  const metadata = given.metadata === undefined ? {} : { metadata: plainObject("metadata", given.metadata) };
  switch (given.type) {
    case "success":
      return { ...given, data: plainJson(given.data), ...metadata };
    case "error":
      checkTexts("tool result", { code: given.code ?? null, message: given.message ?? null });
      return { ...given, ...(given.data === undefined ? {} : { data: plainJson(given.data) }), ...metadata };
    case "pending":
      return { ...given, suspension: plainSuspension(given.suspension), ...metadata };
    default:
      throw new TypeError("a tool result must be success, error or pending");
  }
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

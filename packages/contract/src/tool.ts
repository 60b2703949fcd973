import type { MediaContent } from "./content.ts";
import type { ToolCallId } from "./ids.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Suspension } from "./suspension.ts";

/** What the model is told about a tool. The model calls it by `id`. */
export interface ToolDescriptor {
  readonly id: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly parameters: JsonObject;
  readonly category?: string;
  readonly metadata?: JsonObject;
}

export interface ToolCall {
  readonly id: ToolCallId;
  readonly name: string;
  readonly input: JsonValue;
}

export const TOOL_ERROR_CODES = [
  "invalid_arguments",
  "execution_failed",
  "timeout",
  "cancelled",
  "denied",
  "not_found",
  "interrupted",
  "internal",
] as const;
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** What a call gave. The model reads `message` when it is there, else the JSON of `data`. */
export type ToolResult = ToolSuccess | ToolFailure | ToolPending;

export interface ToolSuccess {
  readonly type: "success";
  readonly data: JsonValue;
  readonly message?: string;
  /** Images and documents for the model, beside the text. */
  readonly media?: readonly MediaContent[];
  readonly metadata?: JsonObject;
}

export interface ToolFailure {
  readonly type: "error";
  /** One of ours, or the tool's own code. */
  readonly code: ToolErrorCode | (string & {});
  readonly message: string;
  readonly data?: JsonValue;
  readonly metadata?: JsonObject;
}

/** The call waits for a decision. */
export interface ToolPending {
  readonly type: "pending";
  readonly suspension: Suspension;
  readonly message?: string;
  readonly metadata?: JsonObject;
}

export const TOOL_OUTCOMES = ["succeeded", "failed", "suspended"] as const;
export type ToolOutcome = (typeof TOOL_OUTCOMES)[number];

export function toolOutcome(result: ToolResult): ToolOutcome {
  switch (result.type) {
    case "success":
      return "succeeded";
    case "error":
      return "failed";
    case "pending":
      return "suspended";
  }
}

import type { MediaContent } from "./content.ts";
import type { ToolCallId } from "./ids.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Suspension } from "./suspension.ts";

/** What the model is told about a tool. The model calls it by `id`. */
export interface ToolDescriptor {
  /** The name by which the model calls it. */
  readonly id: string;
  /** When and how to use it, for the model. */
  readonly description: string;
  /** JSON Schema of the input. */
  readonly parameters: JsonObject;
  /** For catalogues that group tools; the model does not see it. */
  readonly category?: string;
  /** For whoever lists tools; the model does not see it. */
  readonly metadata?: JsonObject;
}

export interface ToolCall {
  /** Of this call, unique among those of its turn. */
  readonly id: ToolCallId;
  /** The id of the tool. */
  readonly name: string;
  /** What it is called with: as the model wrote it, or as a decision edited it. */
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
  /** What the tool gave. */
  readonly data: JsonValue;
  /** What the model reads instead of the JSON of `data`. */
  readonly message?: string;
  /** Images and documents for the model, beside the text. */
  readonly media?: readonly MediaContent[];
  /** For listeners and records; the model does not see it. */
  readonly metadata?: JsonObject;
}

export interface ToolFailure {
  readonly type: "error";
  /** One of ours, or the tool's own code. */
  readonly code: ToolErrorCode | (string & {});
  /** What the model reads. */
  readonly message: string;
  /** More about the failure, for programs. */
  readonly data?: JsonValue;
  /** For listeners and records; the model does not see it. */
  readonly metadata?: JsonObject;
}

/** The call waits for a decision. */
export interface ToolPending {
  readonly type: "pending";
  /** Why the call waits and what would answer it. */
  readonly suspension: Suspension;
  /** What the model reads as long as the call waits. */
  readonly message?: string;
  /** For listeners and records; the model does not see it. */
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

import { AwakenError } from "./error.ts";
import { describeType } from "./schema/issue.ts";

declare const brand: unique symbol;

/** A string that was checked to be an id of one kind. Public inputs take plain strings; what we return is branded. */
export type Id<Kind extends string> = string & { readonly [brand]: Kind };

export type ThreadId = Id<"thread">;
export type RunId = Id<"run">;
export type MessageId = Id<"message">;
export type ToolCallId = Id<"tool call">;
export type TicketId = Id<"ticket">;
export type DecisionId = Id<"decision">;
export type DispatchId = Id<"dispatch">;
export type EventId = Id<"event">;
export type ScopeId = Id<"scope">;

function toId<Kind extends string>(kind: Kind, value: string): Id<Kind> {
  if (typeof value !== "string" || value.trim() === "") {
    throw new AwakenError(
      "invalid_id",
      `${kind} id must be a non-blank string, got ${typeof value === "string" ? JSON.stringify(value) : describeType(value)}`,
      {
        details: { kind },
      },
    );
  }
  return value as Id<Kind>;
}

export const threadId = (value: string): ThreadId => toId("thread", value);
export const runId = (value: string): RunId => toId("run", value);
export const messageId = (value: string): MessageId => toId("message", value);
export const toolCallId = (value: string): ToolCallId => toId("tool call", value);
export const ticketId = (value: string): TicketId => toId("ticket", value);
export const decisionId = (value: string): DecisionId => toId("decision", value);
export const dispatchId = (value: string): DispatchId => toId("dispatch", value);
export const eventId = (value: string): EventId => toId("event", value);

const MAX_SCOPE_BYTES = 512;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what a scope must not hold
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** A tenant. At most 512 bytes of UTF-8 and no control characters, so that it can be a database key anywhere. */
export function scopeId(value: string): ScopeId {
  const id = toId("scope", value);
  if (CONTROL.test(id)) throw new AwakenError("invalid_id", "scope id must not contain control characters");
  // A character is three bytes at most: most are short enough without a count.
  if (id.length * 3 > MAX_SCOPE_BYTES && new TextEncoder().encode(id).length > MAX_SCOPE_BYTES) {
    throw new AwakenError("invalid_id", `scope id must be at most ${MAX_SCOPE_BYTES} bytes`);
  }
  return id;
}

export const DEFAULT_SCOPE = "default" as ScopeId;

import type { DecisionId, RunId, ThreadId, TicketId, ToolCallId } from "./ids.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/**
 * What a decision does to the call: run the tool again, become its result without running it,
 * or run the tool and let it read the decision.
 */
export const RESUME_MODES = ["replay-tool-call", "use-decision-as-tool-result", "pass-decision-to-tool"] as const;
export type ResumeMode = (typeof RESUME_MODES)[number];

/** Why a call waits and what would answer it. */
export interface Suspension {
  /** Of its ticket. The runtime makes it, unique for ever: one that a tool or a gate gives is not kept. */
  readonly id?: TicketId;
  /** What is asked for, for programs: `approve`, `tool:<id>`, `unknown-outcome`, … */
  readonly action: string;
  /** What is asked for, for people. */
  readonly message?: string;
  readonly parameters?: JsonValue;
  /** JSON Schema of the answer. */
  readonly responseSchema?: JsonObject;
  readonly resumeMode?: ResumeMode;
}

/** A suspended call as a record that anyone may answer later, from any process. */
export interface Ticket {
  /** Made by the runtime, unique for ever. */
  readonly id: TicketId;
  readonly runId: RunId;
  readonly threadId: ThreadId;
  /** As the vendor or the runtime named the call: some models repeat it in every turn. */
  readonly toolCallId: ToolCallId;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly action: string;
  readonly resumeMode: ResumeMode;
  readonly message?: string;
  readonly parameters?: JsonValue;
  readonly responseSchema?: JsonObject;
  /** From the root agent to the one that asks; absent when the root asks. */
  readonly agentPath?: readonly string[];
  readonly updatedAt: number;
}

/** What a user says about a ticket. */
export type DecisionAction =
  | { readonly action: "approve"; readonly input?: JsonValue }
  | { readonly action: "deny"; readonly reason?: string }
  | { readonly action: "answer"; readonly result: JsonValue };

/** `id` makes it idempotent: the same id twice decides once, and is refused with another content. */
export type Decision = DecisionAction & {
  readonly id: DecisionId;
  readonly by?: string;
  /** What plugins know about it: a rule to remember, a device that signed. */
  readonly metadata?: JsonObject;
  readonly decidedAt: number;
};

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
  /** What the answer is about, for programs: what a form shows, what a rule compares. */
  readonly parameters?: JsonValue;
  /** JSON Schema of the answer. */
  readonly responseSchema?: JsonObject;
  /** What a decision does to the call. Default: the tool runs again. */
  readonly resumeMode?: ResumeMode;
  /** Whether an approval may bring another input. Default: yes when the tool runs again, no when the decision answers a question. */
  readonly canEdit?: boolean;
  /** How long it can be decided, in ms. Without it there is no end. */
  readonly expiresInMs?: number;
  /** When that is over, in ms. The runtime makes it: one that a tool or a gate gives is not kept. */
  readonly expiresAt?: number;
}

/** A suspended call as a record that anyone may answer later, from any process. */
export interface Ticket {
  /** Made by the runtime, unique for ever. */
  readonly id: TicketId;
  /** The run that waits. */
  readonly runId: RunId;
  /** The thread of that run. */
  readonly threadId: ThreadId;
  /** As the vendor or the runtime named the call: some models repeat it in every turn. */
  readonly toolCallId: ToolCallId;
  /** The tool that was called. */
  readonly toolName: string;
  /** What the call would run with. */
  readonly input: JsonValue;
  /** What is asked for, for programs: `approve`, `tool:<id>`, `unknown-outcome`, … */
  readonly action: string;
  /** What a decision does to the call. */
  readonly resumeMode: ResumeMode;
  /** What is asked for, for people. */
  readonly message?: string;
  /** What the answer is about, for programs. */
  readonly parameters?: JsonValue;
  /** JSON Schema of the answer: one that does not fit is refused. */
  readonly responseSchema?: JsonObject;
  /** Whether an approval may bring another input: one that does is refused as `ticket_not_editable` where this is false. */
  readonly canEdit?: boolean;
  /** From then on a decision is refused as `ticket_expired`, in ms: a run that goes on, or a message that comes, finds the call denied. */
  readonly expiresAt?: number;
  /** The first run of the family: where a person sees the ticket. Records from before it was stored do not say. */
  readonly rootRunId?: RunId;
  /** The agents of the runs from the first one to the one that asks; of one name when the first run asks itself. */
  readonly agentPath?: readonly string[];
  /** When the call began to wait, in ms. */
  readonly updatedAt: number;
}

/** What a user says about a ticket. */
export type DecisionAction =
  | {
      readonly action: "approve";
      /** Runs the call with this instead of what the model wrote. */
      readonly input?: JsonValue;
    }
  | {
      readonly action: "deny";
      /** The model reads it. */
      readonly reason?: string;
    }
  | {
      readonly action: "answer";
      /** Becomes the result of the call without running the tool, or is handed to it, as the resume mode says. */
      readonly result: JsonValue;
    };

/** `id` makes it idempotent: the same id twice decides once, and is refused with another content. */
export type Decision = DecisionAction & {
  /** The same id twice decides once. */
  readonly id: DecisionId;
  /** Who decided, as the caller names them. */
  readonly by?: string;
  /** What plugins know about it: a rule to remember, a device that signed. */
  readonly metadata?: JsonObject;
  /** When, in ms. */
  readonly decidedAt: number;
};

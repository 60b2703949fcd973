import type { Conclusion } from "./conclusion.ts";
import type { RunIdentity } from "./identity.ts";
import type { MessageId, RunId, ThreadId, TicketId, ToolCallId } from "./ids.ts";
import type { StopReason } from "./inference.ts";
import type { JsonValue } from "./json.ts";
import type { Message } from "./message.ts";
import type { PersistedState } from "./state.ts";
import type { DecisionAction, Ticket } from "./suspension.ts";
import type { Termination } from "./termination.ts";
import type { ToolOutcome, ToolResult } from "./tool.ts";
import type { ModelUsage, Usage } from "./usage.ts";

type Without<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never;

/** What became of the run, or what it waits for, on its last event. */
export type RunOutcome = Without<Conclusion, "termination"> & {
  /** Text of the newest assistant message. */
  readonly response: string;
  /** The answer, when one of a certain shape was asked for and given. */
  readonly output?: JsonValue;
};

/** How messages came into a run: as what it was started with, or while it went on. */
export const INPUT_MODES = ["start", "queue", "steer", "interrupt"] as const;
export type InputMode = (typeof INPUT_MODES)[number];

/** A run that another one started, and the call that it answers. */
export interface ChildRun {
  readonly runId: RunId;
  readonly threadId: ThreadId;
  readonly agentId: string;
  /** From the root agent to the child. */
  readonly agentPath: readonly string[];
  /** Absent for a child that no call waits for. */
  readonly toolCallId?: ToolCallId;
}

/**
 * What happens while a run happens. Order: `run-start` first, one `run-end` last; between them steps alternate and never nest;
 * inside a step: deltas, then `tool-call-ready` in declaration order, then `inference-end`, then calls that run, wait and end, with one
 * completion per call in commit order (that of the calls, unless some take long; those behind one that waits have theirs when it is decided),
 * then `state-snapshot`, then `step-end`. `EVENT_TABLE` has a row for each type.
 */
export type AgentEvent =
  | {
      readonly type: "run-start";
      readonly threadId: ThreadId;
      readonly runId: RunId;
      readonly identity: RunIdentity;
      /** Id of the first assistant message of the run, the same each time it goes on: whoever shows a run as one answer uses it. */
      readonly answerId: MessageId;
      /** The run goes on: it waited, or its process died. */
      readonly resumed: boolean;
    }
  | {
      readonly type: "run-end";
      readonly threadId: ThreadId;
      readonly runId: RunId;
      /** As the record has it. */
      readonly termination: Termination;
      readonly tickets: readonly Ticket[];
      readonly result: RunOutcome;
      /** Of the whole run, also before it waited. */
      readonly usage: Usage;
      readonly usageByModel: readonly ModelUsage[];
    }
  /** The run is tried again after an attempt that did not come to its end. */
  | { readonly type: "run-retry"; readonly attempt: number; readonly reason: string }
  /** Messages that the model reads from here on. */
  | { readonly type: "input-accepted"; readonly messages: readonly Message[]; readonly mode: InputMode }
  | { readonly type: "step-start"; readonly step: number; readonly messageId: MessageId; readonly agentId: string }
  | { readonly type: "step-end"; readonly step: number }
  | { readonly type: "text-delta"; readonly delta: string }
  | { readonly type: "reasoning-delta"; readonly delta: string }
  | { readonly type: "reasoning-encrypted-value"; readonly encryptedValue: string }
  | { readonly type: "tool-call-start"; readonly toolCallId: ToolCallId; readonly toolName: string }
  | { readonly type: "tool-call-delta"; readonly toolCallId: ToolCallId; readonly delta: string }
  | {
      readonly type: "tool-call-ready";
      readonly toolCallId: ToolCallId;
      readonly toolName: string;
      readonly input: JsonValue;
      /** `client`: whoever started the run executes it. */
      readonly runsAt: "server" | "client";
      /** The tool is not one that the program declared: it was found while it runs. */
      readonly dynamic: boolean;
      /** What the tool says that it does: `read`, `edit`, `execute`, … */
      readonly kind?: string;
      /** Why it will not be run: the input does not fit, or there is no such tool. */
      readonly invalid?: string;
    }
  /** The call passed its gates and its tool runs now. */
  | { readonly type: "tool-call-run"; readonly toolCallId: ToolCallId }
  | {
      readonly type: "tool-call-end";
      readonly toolCallId: ToolCallId;
      readonly toolName: string;
      readonly messageId: MessageId;
      readonly outcome: ToolOutcome;
      readonly result: ToolResult;
    }
  /** A call waits, and its ticket is on record: it can be decided from now on, also while other calls of the turn run. */
  | { readonly type: "ticket-open"; readonly ticket: Ticket }
  /** Output that a running tool streams. */
  | { readonly type: "tool-call-stream-delta"; readonly toolCallId: ToolCallId; readonly toolName: string; readonly delta: string }
  /** A call of an earlier activation of the run has its result: it waited and was decided, or its process died. */
  | {
      readonly type: "tool-call-resumed";
      readonly toolCallId: ToolCallId;
      readonly toolName: string;
      /** The assistant message that asked for it. */
      readonly messageId: MessageId;
      /** Absent when it did not wait. */
      readonly ticketId?: TicketId;
      readonly outcome: "succeeded" | "failed" | "denied";
      readonly result: JsonValue;
    }
  /** The model began this call and the stream broke before it was complete. */
  | { readonly type: "tool-call-cancel"; readonly toolCallId: ToolCallId; readonly toolName: string; readonly reason: string }
  /** A call waits for a decision, from now on. */
  | { readonly type: "ticket-open"; readonly ticket: Ticket }
  /** Who decided what. `action` and what goes with it are as they were given. */
  | ({
      readonly type: "decision-taken";
      readonly ticketId: TicketId;
      readonly toolCallId: ToolCallId;
      readonly toolName: string;
      readonly decidedAt: number;
      readonly by?: string;
    } & DecisionAction)
  /** Somebody found out what became of a call whose outcome was lost. */
  | {
      readonly type: "outcome-found";
      readonly toolCallId: ToolCallId;
      readonly toolName: string;
      readonly idempotencyKey: string;
      readonly found: "done" | "not-done";
      readonly foundAt: number;
      readonly by?: string;
    }
  /** What was streamed in this step is void; it starts over. */
  | { readonly type: "stream-reset"; readonly reason: string }
  /** The model refused or broke off, and is asked again after this wait: the first time is attempt 1. */
  | { readonly type: "inference-retry"; readonly attempt: number; readonly delayMs: number; readonly reason: string }
  | {
      readonly type: "inference-end";
      readonly provider: string;
      readonly model: string;
      readonly usage: Usage;
      readonly durationMs: number;
      /** Tokens that the model takes at most; absent when nobody knows. */
      readonly contextWindow?: number;
      readonly finishReason: StopReason | "error";
    }
  | ({ readonly type: "child-start" } & ChildRun)
  | ({ readonly type: "child-end"; readonly outcome: RunOutcome; readonly usage: Usage } & ChildRun)
  /** Of the keys that may leave the process. */
  | { readonly type: "state-snapshot"; readonly snapshot: PersistedState }
  | {
      readonly type: "activity-snapshot";
      readonly messageId: string;
      readonly activityType: string;
      readonly content: JsonValue;
      readonly replace?: boolean;
    };

export type AgentEventType = AgentEvent["type"];

/** `content` of an `activity-snapshot` of type `tool-call-progress`. */
export interface ToolCallProgress {
  readonly schema: "tool-call-progress.v1";
  readonly nodeId: string;
  readonly callId: ToolCallId;
  readonly toolName: string;
  readonly status: "pending" | "running" | "done" | "failed" | "cancelled";
  readonly progress?: number;
  readonly loaded?: number;
  readonly total?: number;
  readonly message?: string;
  readonly parentNodeId?: string;
  readonly parentCallId?: ToolCallId;
  readonly runId?: RunId;
  readonly parentRunId?: RunId;
  readonly threadId?: ThreadId;
}

import type { RunIdentity } from "./identity.ts";
import type { MessageId, RunId, ThreadId, ToolCallId } from "./ids.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Message } from "./message.ts";
import type { PersistedState } from "./state.ts";
import type { Ticket } from "./suspension.ts";
import type { RunStatus, Termination, WaitingReason } from "./termination.ts";
import type { ToolOutcome, ToolResult } from "./tool.ts";
import type { Usage } from "./usage.ts";

/** How far the run came, on its terminal event. */
export interface RunOutcome {
  readonly response: string;
  readonly status: RunStatus;
  readonly waitingReason?: WaitingReason;
  readonly output?: JsonValue;
}

/**
 * What happens while a run happens. Order: `run-start` first, one `run-end` last; between them steps alternate and never nest;
 * inside a step: deltas, then `tool-call-ready` in declaration order, then `inference-end`, then one completion per call in
 * commit order (that of the calls, unless some take long), then `state-snapshot`, then `step-end`. Calls that are held behind one that
 * waits have their completion when it is decided.
 */
export type AgentEvent =
  | { readonly type: "run-start"; readonly threadId: ThreadId; readonly runId: RunId; readonly identity: RunIdentity }
  | {
      readonly type: "run-end";
      readonly threadId: ThreadId;
      readonly runId: RunId;
      readonly termination: Termination;
      readonly tickets: readonly Ticket[];
      readonly result?: RunOutcome;
    }
  | { readonly type: "step-start"; readonly step: number; readonly messageId: MessageId }
  | { readonly type: "step-end"; readonly step: number }
  | { readonly type: "text-delta"; readonly delta: string }
  | { readonly type: "reasoning-delta"; readonly delta: string }
  | { readonly type: "reasoning-encrypted-value"; readonly encryptedValue: string }
  | { readonly type: "tool-call-start"; readonly toolCallId: ToolCallId; readonly toolName: string }
  | { readonly type: "tool-call-delta"; readonly toolCallId: ToolCallId; readonly delta: string }
  | { readonly type: "tool-call-ready"; readonly toolCallId: ToolCallId; readonly toolName: string; readonly input: JsonValue }
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
      readonly outcome: "succeeded" | "failed" | "denied";
      readonly result: JsonValue;
    }
  /** The model began this call and the stream broke before it was complete. */
  | { readonly type: "tool-call-cancel"; readonly toolCallId: ToolCallId; readonly toolName: string; readonly reason: string }
  /** What was streamed in this step is void; it starts over. */
  | { readonly type: "stream-reset"; readonly reason: string }
  /** The model refused or broke off, and is asked again after this wait: the first time is attempt 1. */
  | { readonly type: "inference-retry"; readonly attempt: number; readonly delayMs: number; readonly reason: string }
  | { readonly type: "inference-end"; readonly model: string; readonly usage: Usage; readonly durationMs: number }
  | { readonly type: "state-snapshot"; readonly snapshot: PersistedState }
  | { readonly type: "state-delta"; readonly delta: readonly JsonObject[] }
  | { readonly type: "messages-snapshot"; readonly messages: readonly Message[] }
  | {
      readonly type: "activity-snapshot";
      readonly messageId: string;
      readonly activityType: string;
      readonly content: JsonValue;
      readonly replace?: boolean;
    }
  | {
      readonly type: "activity-delta";
      readonly messageId: string;
      readonly activityType: string;
      readonly patch: readonly JsonObject[];
    }
  | { readonly type: "error"; readonly message: string; readonly code?: string };

export type AgentEventType = AgentEvent["type"];

/** Events that only a live listener needs: a stored log leaves them out. */
export const ADVISORY_EVENTS: ReadonlySet<AgentEventType> = new Set<AgentEventType>([
  "step-start",
  "step-end",
  "text-delta",
  "reasoning-delta",
  "reasoning-encrypted-value",
  "tool-call-start",
  "tool-call-delta",
  "tool-call-stream-delta",
  "inference-retry",
  "state-snapshot",
  "state-delta",
  "messages-snapshot",
  "activity-snapshot",
  "activity-delta",
]);

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

import {
  type AgentEvent,
  type Decision,
  EVENT_SCHEMA_VERSION,
  type EventAppend,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Message,
  type RunIdentity,
  type Termination,
  type TicketId,
  type ToolCallId,
  type ToolCallState,
  type ToolResult,
  toJson,
} from "@awaken/contract";

const ENDINGS: Record<Termination["type"], string> = {
  "natural-end": "run-finished",
  "behavior-requested": "run-finished",
  suspended: "run-suspended",
  cancelled: "run-cancelled",
  error: "run-errored",
  stopped: "run-terminated",
  blocked: "run-terminated",
};

function endKind({ outcome, result }: Extract<AgentEvent, { type: "tool-call-end" }>): string {
  if (outcome === "suspended") return "tool-call-suspended";
  if (result.metadata?.["rejected"] === true) return "tool-call-rejected";
  return result.metadata?.["timedOut"] === true ? "tool-call-timed-out" : "tool-call-done";
}

/** Who decided what about a call. Nobody listens to it: it happens between two activations. */
export interface DecisionFact {
  readonly type: "decision-taken";
  readonly ticketId: TicketId;
  readonly toolCallId: ToolCallId;
  readonly toolName: string;
  readonly action: Decision["action"];
  readonly decidedAt: number;
  readonly by?: string;
  /** As edited. */
  readonly input?: JsonValue;
  readonly reason?: string;
}

/** Somebody knows what became of a call whose outcome was lost. */
export interface OutcomeFact {
  readonly type: "outcome-found";
  readonly toolCallId: ToolCallId;
  readonly toolName: string;
  readonly idempotencyKey: string;
  readonly found: "done" | "not-done";
  readonly foundAt: number;
  readonly by?: string;
}

/** What is put on record with the next commit. */
export type StagedFact = AgentEvent | DecisionFact | OutcomeFact;

export function decisionFact(call: ToolCallState, ticketId: TicketId, decision: Decision): DecisionFact {
  const { action, decidedAt, by } = decision;
  const said = decision.action === "approve" ? decision.input : undefined;
  const reason = decision.action === "deny" ? decision.reason : undefined;
  return {
    ...{ type: "decision-taken", ticketId, toolCallId: call.id, toolName: call.name, action, decidedAt },
    ...(by === undefined ? {} : { by }),
    ...(said === undefined ? {} : { input: said }),
    ...(reason === undefined ? {} : { reason }),
  };
}

function kindOf(event: StagedFact, isResumed: boolean): string {
  switch (event.type) {
    case "run-start":
      return isResumed ? "run-resumed" : "run-started";
    case "run-end":
      return ENDINGS[event.termination.type];
    case "tool-call-end":
      return endKind(event);
    case "tool-call-cancel":
      return "tool-call-cancelled";
    case "inference-end":
      return "inference-complete";
    case "error":
      return "error-recorded";
    default:
      return event.type;
  }
}

const MESSAGE_KINDS: Record<Message["role"], readonly [external: string, internal: string]> = {
  user: ["user-input", "internal-user-input"],
  assistant: ["assistant-output", "assistant-output"],
  tool: ["tool-result", "tool-result"],
  system: ["system", "internal-system"],
};

function draft(identity: RunIdentity, kind: string, payload: JsonObject, isInternal = false): EventAppend {
  const { threadId, runId } = identity;
  return {
    draft: {
      schemaVersion: EVENT_SCHEMA_VERSION,
      kind,
      payload,
      visibility: isInternal ? "internal" : "public",
      origin: "runtime",
      threadId,
      runId,
    },
  };
}

/** What a model reads of a result stands in the call's message: as it is when `dataIs` says text, else as JSON. */
function factOfResult(result: ToolResult): object {
  if (result.type !== "success") return result;
  const { type, message, data } = result;
  const metadata = result.metadata === undefined ? undefined : { metadata: result.metadata };
  return message === undefined
    ? { type, ...metadata, dataIs: typeof data === "string" ? "text" : "json" }
    : { type, message, ...metadata, data };
}

/** The event without what is stored elsewhere: ids in the fact itself, inputs and results in messages, the answer in the run's record. */
function factOf(event: StagedFact): object {
  switch (event.type) {
    case "run-start": {
      const { threadId: _thread, runId: _run, ...identity } = event.identity;
      return { identity };
    }
    case "run-end": {
      const { termination, tickets, result } = event;
      if (result === undefined) return { termination, tickets };
      const { status, waitingReason } = result;
      return { termination, tickets, result: waitingReason === undefined ? { status } : { status, waitingReason } };
    }
    case "step-start":
      return { step: event.step, messageId: event.messageId };
    case "inference-end":
      return { model: event.model, usage: event.usage, durationMs: event.durationMs };
    case "tool-call-ready":
      return { toolCallId: event.toolCallId, toolName: event.toolName };
    case "tool-call-end": {
      const { toolCallId, toolName, messageId, outcome, result } = event;
      return { toolCallId, toolName, messageId, outcome, result: factOfResult(result) };
    }
    default: {
      const { type: _type, ...rest } = event;
      return rest;
    }
  }
}

/** An event as the fact that the log keeps. */
export function canonicalEvent(identity: RunIdentity, event: StagedFact, isResumed: boolean): EventAppend {
  const json = toJson(factOf(event));
  return draft(identity, kindOf(event, isResumed), isJsonObject(json) ? json : {});
}

/** Every message that enters the log is a fact of its own. */
export function messageCommitted(identity: RunIdentity, message: Message, seq: number): EventAppend {
  const isInternal = message.visibility === "internal";
  const payload = {
    messageId: message.id,
    messageSeq: seq,
    role: message.role,
    messageKind: MESSAGE_KINDS[message.role][isInternal ? 1 : 0],
  };
  return draft(identity, "message-committed", payload, isInternal);
}

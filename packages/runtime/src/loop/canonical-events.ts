import {
  type AgentEvent,
  EVENT_SCHEMA_VERSION,
  type EventAppend,
  isJsonObject,
  type JsonObject,
  type Message,
  type RunIdentity,
  type Termination,
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

function kindOf(event: AgentEvent, isResumed: boolean): string {
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

/** An event as the fact that the log keeps. */
export function canonicalEvent(identity: RunIdentity, event: AgentEvent, isResumed: boolean): EventAppend {
  const { type: _type, ...payload } = event;
  const json = toJson(payload);
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

import {
  type AgentEvent,
  isJsonObject,
  type JsonObject,
  type Message,
  messageToolCalls,
  type RunIdentity,
  type Termination,
  type ToolResult,
  toJson,
} from "@awaken/contract";
import { EVENT_SCHEMA_VERSION, type EventAppend } from "@awaken/contract/store";

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

type Place = Pick<RunIdentity, "threadId" | "runId">;

function draft(identity: Place, kind: string, payload: JsonObject, isInternal = false): EventAppend {
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

/** What is as usual is left out. The input stands in the turn; a call that will not be run has no place there. */
function factOfReady(event: Extract<AgentEvent, { type: "tool-call-ready" }>, calls: ReadonlySet<string>): object {
  const { toolCallId, toolName, input, runsAt, dynamic, kind, invalid } = event;
  const fact: { -readonly [Field in keyof typeof event]?: (typeof event)[Field] } = { toolCallId, toolName };
  if (!calls.has(toolCallId)) fact.input = input;
  if (runsAt !== "server") fact.runsAt = runsAt;
  if (dynamic) fact.dynamic = dynamic;
  if (kind !== undefined && kind !== "other") fact.kind = kind;
  if (invalid !== undefined) fact.invalid = invalid;
  return fact;
}

type Fact<T extends AgentEvent["type"]> = Omit<Extract<AgentEvent, { type: T }>, "type">;

/**
 * The event without what is stored elsewhere: ids in the fact itself, inputs and results in messages, the answer and the usage of a run that
 * is over in its record.
 */
function factOf(event: AgentEvent, calls: ReadonlySet<string>): object {
  switch (event.type) {
    case "run-start": {
      const { threadId: _thread, runId: _run, ...identity } = event.identity;
      return { identity };
    }
    case "run-end": {
      const { termination, tickets, result, usage, usageByModel } = event;
      const { status } = result;
      if (status !== "waiting") return { termination, tickets, result: { status } };
      return { termination, tickets, result: { status, waitingReason: result.waitingReason }, usage, usageByModel };
    }
    case "input-accepted":
      return { messageIds: event.messages.map(({ id }) => id), mode: event.mode };
    case "tool-call-ready":
      return factOfReady(event, calls);
    case "tool-call-end": {
      const { toolCallId, toolName, messageId, outcome, result } = event;
      return { toolCallId, toolName, messageId, outcome, result: factOfResult(result) };
    }
    case "tool-call-resumed": {
      const { type: _type, media: _media, ...fact } = event;
      return fact;
    }
    // What comes with every step is named: leaving a field out of the rest is slow.
    case "step-start": {
      const { step, messageId, agentId } = event;
      return { step, messageId, agentId } satisfies Fact<"step-start">;
    }
    case "inference-end": {
      const { provider, model, usage, durationMs, finishReason, contextWindow } = event;
      const fact: Fact<"inference-end"> = { provider, model, usage, durationMs, finishReason };
      return contextWindow === undefined ? fact : { ...fact, contextWindow };
    }
    default:
  }
  const { type: _type, ...rest } = event;
  return rest;
}

const NO_CALLS: ReadonlySet<string> = new Set();

/** The calls that these messages ask for; not looked for when no event is about one. */
export function callsIn(messages: readonly Message[], events: readonly AgentEvent[]): ReadonlySet<string> {
  if (!events.some(({ type }) => type === "tool-call-ready")) return NO_CALLS;
  const calls = new Set<string>();
  for (const message of messages) for (const { id } of messageToolCalls(message)) calls.add(id);
  return calls;
}

/** An event as the fact that the log keeps. `read-fact.ts` of the relay makes the event of it again. `calls`: those of the turn that is committed with it. */
export function canonicalEvent(identity: Place, event: AgentEvent, isResumed: boolean, calls: ReadonlySet<string>): EventAppend {
  const json = toJson(factOf(event, calls));
  return draft(identity, kindOf(event, isResumed), isJsonObject(json) ? json : {});
}

/** Every message that enters the log is a fact of its own. */
export function messageCommitted(identity: Place, message: Message, seq: number): EventAppend {
  const isInternal = message.visibility === "internal";
  const payload = {
    messageId: message.id,
    messageSeq: seq,
    role: message.role,
    messageKind: MESSAGE_KINDS[message.role][isInternal ? 1 : 0],
  };
  return draft(identity, "message-committed", payload, isInternal);
}

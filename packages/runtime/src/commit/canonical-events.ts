import {
  type AgentEvent,
  isJsonObject,
  type JsonObject,
  type Message,
  type MessageId,
  messageToolCalls,
  NATURAL_END,
  type RunIdentity,
  type Termination,
  type ToolResult,
  toJson,
} from "@awaken/contract";
import { EVENT_SCHEMA_VERSION, type EventAppend, messageFact, small } from "@awaken/contract/store";

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

/** What is said of most results: one for all of them. */
const TEXT = Object.freeze({ type: "success", dataIs: "text" });
const JSON_DATA = Object.freeze({ type: "success", dataIs: "json" });

/** What a model reads of a result stands in the call's message: as it is when `dataIs` says text, else as JSON. */
function factOfResult(result: ToolResult): object {
  if (result.type !== "success") return result;
  const { type, message, data } = result;
  if (message === undefined && result.metadata === undefined) return typeof data === "string" ? TEXT : JSON_DATA;
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

/** What most runs end with: one for all of them. */
const FINISHED = Object.freeze({ termination: NATURAL_END, tickets: Object.freeze([]), result: Object.freeze({ status: "done" }) });

type Fact<T extends AgentEvent["type"]> = Omit<Extract<AgentEvent, { type: T }>, "type">;

/**
 * The event without what is stored elsewhere: ids in the fact itself, inputs and results in messages, the answer and the usage of a run that
 * is over in its record. What comes with every run is named, because leaving fields out of the rest is slow, and is JSON by its type; what
 * vendors, tools and callers had a hand in is looked at.
 */
function payloadOf(event: AgentEvent, { calls, asked }: Committed): JsonObject {
  switch (event.type) {
    case "run-start":
      return { identity: factOfIdentity(event.identity) };
    case "run-end": {
      const { termination, tickets, result, usage, usageByModel } = event;
      const { status } = result;
      if (termination.type === "natural-end" && status === "done" && tickets.length === 0) return FINISHED;
      if (status !== "waiting") return toPayload({ termination, tickets, result: { status } });
      return toPayload({ termination, tickets, result: { status, waitingReason: result.waitingReason }, usage, usageByModel });
    }
    case "input-accepted":
      return { messageIds: idsOf(event.messages, asked), mode: event.mode };
    case "tool-call-ready":
      return toPayload(factOfReady(event, calls));
    case "tool-call-end": {
      const { toolCallId, toolName, messageId, outcome, result } = event;
      return toPayload({ toolCallId, toolName, messageId, outcome, result: factOfResult(result) });
    }
    case "tool-call-resumed": {
      const { type: _type, media: _media, ...fact } = event;
      return toPayload(fact);
    }
    case "step-start": {
      const { step, messageId, agentId } = event;
      return { step, messageId, agentId } satisfies Fact<"step-start">;
    }
    case "inference-end": {
      const { provider, model, usage, durationMs, finishReason, contextWindow } = event;
      const fact: Fact<"inference-end"> = { provider, model, usage, durationMs: small(durationMs), finishReason };
      return toPayload(contextWindow === undefined ? fact : { ...fact, contextWindow });
    }
    default: {
      const { type: _type, ...fact } = event;
      return toPayload(fact);
    }
  }
}

function toPayload(fact: object): JsonObject {
  const json = toJson(fact);
  return isJsonObject(json) ? json : {};
}

/** What a run is that nobody but a user asked for: two ids, which the fact has itself, and this. */
const FIELDS_OF_USUAL = 6;

function factOfIdentity(identity: RunIdentity): JsonObject {
  const { agentId, origin, runMode, adapter } = identity;
  if (Object.keys(identity).length === FIELDS_OF_USUAL) return { agentId, origin, runMode, adapter };
  const { threadId: _thread, runId: _run, ...rest } = identity;
  return toPayload(rest);
}

/** `asked`, when they are the same: the record of the run has them already. */
function idsOf(messages: readonly Message[], asked: readonly MessageId[]): readonly MessageId[] {
  const isAsked = messages.length === asked.length && messages.every(({ id }, index) => id === asked[index]);
  return isAsked ? asked : messages.map(({ id }) => id);
}

const NO_CALLS: ReadonlySet<string> = new Set();

/** The calls that these messages ask for; not looked for when no event is about one. */
export function callsIn(messages: readonly Message[], events: readonly AgentEvent[]): ReadonlySet<string> {
  if (!events.some(({ type }) => type === "tool-call-ready")) return NO_CALLS;
  const calls = new Set<string>();
  for (const message of messages) for (const { id } of messageToolCalls(message)) calls.add(id);
  return calls;
}

/** What stands beside events in their commit. */
export interface Committed {
  /** Those of the turn. */
  readonly calls: ReadonlySet<string>;
  /** The ids of what the run was asked. */
  readonly asked: readonly MessageId[];
}

/** An event as the fact that the log keeps. `read-fact.ts` of the relay makes the event of it again. */
export function canonicalEvent(identity: Place, event: AgentEvent, isResumed: boolean, committed: Committed): EventAppend {
  return draft(identity, kindOf(event, isResumed), payloadOf(event, committed));
}

/** Every message that enters the log is a fact of its own. */
export function messageCommitted(identity: Place, message: Message, seq: number): EventAppend {
  return draft(identity, "message-committed", messageFact(message, seq), message.visibility === "internal");
}

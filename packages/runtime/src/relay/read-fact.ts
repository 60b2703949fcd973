import {
  type AgentEvent,
  conclude,
  EVENT_TABLE,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Message,
  messageId,
  messageText,
  messageToolCalls,
  openTicketsOf,
  type RunRecord,
  readEventOf,
  type Termination,
  type Ticket,
  type ToolMessage,
} from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";

type AgentEventType = AgentEvent["type"];

/** The kinds of the log that are not spelled as the event is. */
const TYPES: Readonly<Record<string, AgentEventType>> = {
  "run-started": "run-start",
  "run-resumed": "run-start",
  "run-finished": "run-end",
  "run-suspended": "run-end",
  "run-cancelled": "run-end",
  "run-errored": "run-end",
  "run-terminated": "run-end",
  "tool-call-suspended": "tool-call-end",
  "tool-call-rejected": "tool-call-end",
  "tool-call-timed-out": "tool-call-end",
  "tool-call-done": "tool-call-end",
  "tool-call-cancelled": "tool-call-cancel",
  "inference-complete": "inference-end",
};

const isEventType = (kind: string): kind is AgentEventType => Object.hasOwn(EVENT_TABLE, kind);

/** What a stored event is told as; undefined for kinds that only the log has. */
function typeOfFact({ kind, visibility }: StoredEvent): AgentEventType | undefined {
  if (visibility !== "public") return undefined;
  return TYPES[kind] ?? (isEventType(kind) && EVENT_TABLE[kind].isStored ? kind : undefined);
}

/** What a fact leaves out because it is stored elsewhere. */
export interface FactSources {
  readonly run: RunRecord;
  message(id: string): Message | undefined;
  /** The result of a call that was committed with the fact. */
  answer(toolCallId: string): ToolMessage | undefined;
  /** The first is the turn that the fact is part of. */
  readonly turns: readonly Message[];
  /** What the run had said last when this was committed. */
  readonly lastWords: string;
  /** As far as somebody has heard of it. */
  ticket(id: string): Ticket | undefined;
}

const isText = (value: JsonValue | undefined): value is string => typeof value === "string";

/** Which messages have to be at hand for `readFact`. */
export function messagesOfFact({ kind, payload }: StoredEvent): readonly string[] {
  const { messageIds, messageId: id } = payload;
  if (kind === "input-accepted") return Array.isArray(messageIds) ? messageIds.filter(isText) : [];
  return isText(id) && (kind === "message-committed" || TYPES[kind] === "tool-call-end") ? [id] : [];
}

/** The event that a fact was, as listeners heard it. Undefined when what it needs is gone, or an old form does not have it. */
export function readFact(fact: StoredEvent, sources: FactSources): AgentEvent | undefined {
  const type = typeOfFact(fact);
  if (type === undefined) return undefined;
  const body = bodyOf(type, fact, sources);
  return body === undefined ? undefined : readEventOf(type, body);
}

/** The same of a fact that stands outside of all runs, as a rewind does: it says all of itself. */
export function readOutside(fact: StoredEvent): AgentEvent | undefined {
  const type = typeOfFact(fact);
  if (type === undefined || EVENT_TABLE[type].stage !== "outside") return undefined;
  return readEventOf(type, fact.payload);
}

function bodyOf(type: AgentEventType, { payload, kind }: StoredEvent, sources: FactSources): object | undefined {
  const { run } = sources;
  const { threadId, runId } = run;
  switch (type) {
    case "run-start": {
      const identity = isJsonObject(payload["identity"]) ? payload["identity"] : {};
      const answerId = run.answerId ?? messageId(`${runId}:answer`);
      return { threadId, runId, identity: { ...identity, threadId, runId }, answerId, resumed: kind === "run-resumed" };
    }
    case "run-end":
      return { threadId, runId, ...endOf(payload, sources) };
    case "input-accepted":
      return { mode: payload["mode"], messages: idsIn(payload).flatMap((id) => sources.message(id) ?? []) };
    case "tool-call-ready":
      return readyOf(payload, sources.turns[0]);
    case "ticket-open":
      return payload["ticket"] === undefined ? ticketOf(payload["ticketId"], sources) : { ticket: payload["ticket"] };
    case "decision-taken":
      // Facts of earlier versions are about the run's own tickets.
      return { runId, ...payload };
    case "tool-call-end":
      return { ...payload, result: resultOf(payload, sources) };
    case "tool-call-resumed":
      return { ...payload, ...mediaOf(isText(payload["toolCallId"]) ? sources.answer(payload["toolCallId"]) : undefined) };
    default:
      return payload;
  }
}

const idsIn = ({ messageIds }: JsonObject): readonly string[] => (Array.isArray(messageIds) ? messageIds.filter(isText) : []);

function isTermination(value: unknown): value is Termination {
  return isJsonObject(value) && typeof value["type"] === "string";
}

function endOf({ termination, tickets, result, usage, usageByModel }: JsonObject, { run, lastWords }: FactSources): object {
  const counted = { usage: usage ?? run.usage, usageByModel: usageByModel ?? run.usageByModel ?? [] };
  const told = { termination, tickets, ...counted };
  const outcome = run.status === "done" ? run.outcome : undefined;
  if (isJsonObject(result) && result["status"] === "waiting") return { ...told, result: { ...result, response: lastWords } };
  if (!isTermination(termination)) return told;
  const isOutputMissing = run.activation.options.output !== undefined && outcome?.output === undefined;
  const { termination: _same, ...concluded } = conclude({ termination, status: "done", waitingReason: undefined, isOutputMissing });
  const output = outcome?.output === undefined ? undefined : { output: outcome.output };
  return { ...told, result: { ...concluded, response: outcome?.response ?? "", ...output } };
}

function readyOf(payload: JsonObject, turn: Message | undefined): object {
  const { toolCallId, invalid } = payload;
  const call = turn?.role === "assistant" ? messageToolCalls(turn).find(({ id }) => id === toolCallId) : undefined;
  const usual = { runsAt: "server", dynamic: false, ...(invalid === undefined ? { kind: "other" } : undefined) };
  return { ...usual, ...(call === undefined ? { input: {} } : { input: call.input }), ...payload };
}

/** Facts of earlier versions name it only. */
function ticketOf(id: JsonValue | undefined, { run, ticket }: FactSources): object | undefined {
  const found = isText(id) ? (openTicketsOf(run).find((each) => each.id === id) ?? ticket(id)) : undefined;
  return found && { ticket: found };
}

/** What the model reads of a result stands in the message of the call. */
function resultOf({ result, messageId: id }: JsonObject, { message }: FactSources): unknown {
  if (!isJsonObject(result) || result["type"] !== "success") return result;
  const { dataIs, ...said } = result;
  const answer = isText(id) ? message(id) : undefined;
  const first = answer?.role === "tool" ? answer.content[0] : undefined;
  const more = mediaOf(answer);
  if (dataIs === undefined) return { ...said, ...more };
  const text = first?.type === "text" ? first.text : answer === undefined ? "" : messageText(answer);
  return { ...said, data: dataIs === "text" ? text : parse(text), ...more };
}

/** They stand behind the text. */
function mediaOf(answer: Message | undefined): object | undefined {
  const media = answer?.role === "tool" ? answer.content.slice(1) : [];
  return media.length === 0 ? undefined : { media };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

import {
  ADAPTERS,
  type Adapter,
  AwakenError,
  type InferenceOverride,
  inferenceOverrideSchema,
  isJson,
  isJsonObject,
  type Message,
  type MessageId,
  messageId,
  ORIGINS,
  type Origin,
  RUN_MODES,
  type RunId,
  type RunIdentity,
  type RunMode,
  type RunRecord,
  runId,
  type Schema,
  type ThreadId,
  type ToolDescriptor,
  threadId,
  type UserContent,
  validateSync,
} from "@awaken/contract";
import type { AddressedDecision } from "../loop/run-context.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import { readDecisions, type TicketDecision } from "./decision-input.ts";
import type { LiveOutput } from "./live-outputs.ts";

/** A message as a caller writes it; the id is made when it is left out. One with the id of a logged message is that message. */
export interface MessageInput {
  readonly role: "user" | "assistant" | "system";
  readonly content: string | readonly UserContent[];
  readonly id?: string;
}

/** Where a run comes from, for records and hooks. */
export interface RunTraceInput {
  readonly origin?: Origin;
  readonly runMode?: RunMode;
  readonly adapter?: Adapter;
  readonly parentRunId?: string;
  readonly parentThreadId?: string;
  readonly sessionId?: string;
  readonly transportRequestId?: string;
  readonly correlationId?: string;
}

/** What a caller asks for. */
export interface RunRequest<O = unknown> {
  /** Default: the agent that the thread is with, else the only one there is, else `default`. */
  readonly agent?: string;
  /** Default: a new thread. */
  readonly thread?: string;
  readonly input?: string | readonly MessageInput[];
  /** The answer must be JSON that fits; `result.output` is then typed. */
  readonly output?: Schema<O>;
  /** How often an answer that does not fit is asked for again, before the run fails with `output_invalid`. Default 2. */
  readonly outputRetries?: number;
  readonly overrides?: InferenceOverride;
  /** Tools that the client runs. */
  readonly frontendTools?: readonly ToolDescriptor[];
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  /** The id of the new run; it must not exist, unless the run was only created. */
  readonly runId?: string;
  /** Goes on with this run of the thread instead of a new one. */
  readonly resume?: string;
  /** About tickets of the run that is resumed: all or none. */
  readonly decisions?: readonly TicketDecision[];
  readonly trace?: RunTraceInput;
}

/** The run that an activation is for: a new one, whose id the caller may have chosen, or one that goes on. */
export type RunIntentInput =
  | { readonly type: "new"; readonly runId: RunId | undefined }
  | {
      readonly type: "resume";
      readonly runId: RunId;
      readonly decisions: readonly AddressedDecision[];
      /** The record on which it was decided to go on: when it has changed since, somebody else has the run. */
      readonly seen: RunRecord | undefined;
    };

/** A request that was read: nothing in it is wrong by itself. */
export interface RunOrder {
  readonly threadId: ThreadId;
  readonly intent: RunIntentInput;
  readonly agentId?: string | undefined;
  readonly input: readonly Message[];
  /** Ids that the caller gave to messages: they may be in the log already. */
  readonly namedMessages: readonly MessageId[];
  readonly trace: RunTraceInput;
  readonly output?: LiveOutput | undefined;
  readonly outputRetries?: number | undefined;
  readonly overrides?: InferenceOverride | undefined;
  readonly frontendTools?: readonly ToolDescriptor[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The run is taken up only to be ended: what became of its agent, its plugins or its state does not keep it from that. */
  readonly isEnding?: true;
}

const refuse = (why: string): never => {
  throw new AwakenError("invalid_activation", `invalid activation: ${why}`);
};

function checkBlank(name: string, value: string | undefined): void {
  if (value !== undefined && (typeof value !== "string" || value.trim() === "")) refuse(`${name} must be a non-blank string`);
}

function checkOneOf(name: string, value: string | undefined, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value)) refuse(`${name} must be one of ${allowed.join(", ")}, got ${JSON.stringify(value)}`);
}

/** From whatever realm it comes. */
const isSignal = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;

function toMessage(input: MessageInput, ids: Ids): Message {
  const id = messageId(input.id ?? ids());
  const { content, role } = input;
  const parts: readonly UserContent[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(parts)) refuse("message content must be a string or a list of parts");
  switch (role) {
    case "user":
      return { id, role, content: parts };
    case "assistant":
      return { id, role, content: parts };
    case "system":
      return { id, role, content: parts.filter((part) => part.type === "text") };
    default:
      return refuse(`message role must be user, assistant or system, got ${JSON.stringify(role)}`);
  }
}

export function toMessages(input: RunRequest["input"], ids: Ids): readonly Message[] {
  if (input === undefined) return [];
  if (typeof input === "string") return [toMessage({ role: "user", content: input }, ids)];
  if (!Array.isArray(input)) refuse("input must be a string or a list of messages");
  const messages = input.map((message) => toMessage(message, ids));
  if (new Set(messages.map((message) => message.id)).size < messages.length) refuse("a message id is there twice");
  return messages;
}

const NO_IDS: readonly MessageId[] = Object.freeze([]);

const namedMessages = (input: RunRequest["input"] = []): readonly MessageId[] =>
  typeof input === "string" ? NO_IDS : input.flatMap(({ id }) => (id === undefined ? [] : [messageId(id)]));

/** As a record may have it: what clients add of their own is left out. */
function readTool({ id, description, parameters, category, metadata }: ToolDescriptor): ToolDescriptor {
  checkBlank("the id of a frontend tool", id);
  if (typeof id !== "string" || typeof description !== "string") refuse("a frontend tool needs an id and a description");
  for (const part of [parameters, metadata ?? {}]) {
    if (!isJsonObject(part) || !isJson(part)) refuse(`parameters and metadata of the frontend tool '${id}' must be JSON objects`);
  }
  return {
    id,
    description,
    parameters,
    ...(category === undefined ? {} : { category }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

const NO_TRACE: RunTraceInput = Object.freeze({});

function checkTrace(trace: RunTraceInput): void {
  if (trace === NO_TRACE) return;
  const { origin, runMode, adapter, ...texts } = trace;
  checkOneOf("trace.origin", origin, ORIGINS);
  checkOneOf("trace.runMode", runMode, RUN_MODES);
  checkOneOf("trace.adapter", adapter, ADAPTERS);
  for (const [name, value] of Object.entries(texts)) checkBlank(`trace.${name}`, value);
}

function readIntent({ runId: hint, resume, decisions = [], thread }: RunRequest, ids: Ids, clock: Clock): RunIntentInput {
  checkBlank("runId", hint);
  checkBlank("resume", resume);
  if (resume === undefined) {
    if (decisions.length > 0) refuse("decisions need the run that they are about: say which to resume");
    return { type: "new", runId: hint === undefined ? undefined : runId(hint) };
  }
  if (thread === undefined) refuse("a run is resumed on its thread: say which");
  if (hint !== undefined) refuse("a run that is resumed has its id already: runId and resume exclude each other");
  return { type: "resume", runId: runId(resume), decisions: readDecisions(decisions, ids, clock), seen: undefined };
}

function checkRetries({ outputRetries, output, resume }: RunRequest): void {
  if (outputRetries === undefined) return;
  if (!Number.isInteger(outputRetries) || outputRetries < 0) refuse("outputRetries must be a whole number from 0");
  if (output === undefined && resume === undefined) refuse("outputRetries needs an output");
}

/** Everything that can be said about a request before anything is looked up. */
export function readRequest(request: RunRequest, ids: Ids, clock: Clock): RunOrder {
  const { agent, thread, overrides, frontendTools, signal, trace = NO_TRACE } = request;
  checkBlank("agent", agent);
  checkBlank("thread", thread);
  checkTrace(trace);
  if (signal !== undefined && !isSignal(signal)) refuse("signal must be an AbortSignal");
  checkRetries(request);
  if (overrides !== undefined) {
    const checked = validateSync(inferenceOverrideSchema, overrides);
    if (checked.type === "invalid") refuse(`overrides: ${checked.message}`);
  }
  const intent = readIntent(request, ids, clock);
  const input = toMessages(request.input, ids);
  if (intent.type === "new" && input.length === 0) refuse("there is no input");
  return {
    threadId: threadId(thread ?? ids()),
    intent,
    input,
    namedMessages: namedMessages(request.input),
    trace,
    agentId: agent,
    overrides,
    frontendTools: frontendTools?.map(readTool),
    outputRetries: request.outputRetries,
    signal,
  };
}

/** Goes on with a run, with nothing new but decisions. */
export function resumeOrder(run: RunRecord, decisions: readonly AddressedDecision[]): RunOrder {
  const { threadId, runId } = run;
  return { threadId, intent: { type: "resume", runId, decisions, seen: run }, input: [], namedMessages: [], trace: {} };
}

/** Takes a run up to end it. */
export const endOrder = (run: RunRecord): RunOrder => ({ ...resumeOrder(run, []), isEnding: true });

/** Of a new run, with what the trace of its request says. */
export function newIdentity(trace: RunTraceInput, thread: ThreadId, run: RunId, agentId: string): RunIdentity {
  const { parentRunId, parentThreadId, sessionId, transportRequestId, correlationId } = trace;
  return {
    threadId: thread,
    runId: run,
    agentId,
    origin: trace.origin ?? "user",
    runMode: trace.runMode ?? "foreground",
    adapter: trace.adapter ?? "internal",
    ...(parentRunId === undefined ? undefined : { parentRunId: runId(parentRunId) }),
    ...(parentThreadId === undefined ? undefined : { parentThreadId: threadId(parentThreadId) }),
    ...(sessionId === undefined ? undefined : { sessionId }),
    ...(transportRequestId === undefined ? undefined : { transportRequestId }),
    ...(correlationId === undefined ? undefined : { correlationId }),
  };
}

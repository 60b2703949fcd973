import {
  ADAPTERS,
  type Adapter,
  AwakenError,
  checkOptions,
  describeType,
  type InferenceOverride,
  inferenceOverrideSchema,
  isJson,
  isJsonObject,
  isPlainObject,
  type Message,
  type MessageId,
  messageId,
  needed,
  ORIGINS,
  type Origin,
  type PartRules,
  partRule,
  RULES,
  RUN_MODES,
  type RunId,
  type RunIdentity,
  type RunMode,
  type RunRecord,
  reading,
  runId,
  type Schema,
  type ThreadId,
  type ToolDescriptor,
  threadId,
  toolCallId,
  type UserContent,
  validateSync,
} from "@awaken/contract";
import { messageSchema } from "@awaken/contract/store";
import type { AddressedDecision } from "../loop/resume/addressed-decision.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import { readDecisions, type TicketDecision } from "./decision-input.ts";
import type { LiveOutput } from "./live-outputs.ts";

/** A message as a caller writes it; the id is made when it is left out. One with the id of a logged message is that message. */
export interface MessageInput {
  /** Who says it. */
  readonly role: "user" | "assistant" | "system";
  /** Text, or parts with pictures and documents. */
  readonly content: string | readonly UserContent[];
  /** Makes it idempotent: a message that the log has already is not added again. */
  readonly id?: string;
}

/** Where a run comes from, for records and hooks. */
export interface RunTraceInput {
  /** Who asked for it. Default `user`. */
  readonly origin?: Origin;
  /** Whether somebody waits for it. Default `foreground`. */
  readonly runMode?: RunMode;
  /** The protocol that it came in by. Default `internal`. */
  readonly adapter?: Adapter;
  /** The run that started this one. */
  readonly parentRunId?: string;
  /** The thread of that run. */
  readonly parentThreadId?: string;
  /** The call of the parent run that started this one. */
  readonly parentToolCallId?: string;
  /** The session of the client. */
  readonly sessionId?: string;
  /** The request that brought it, as the transport names it. */
  readonly transportRequestId?: string;
  /** What the caller ties its own records together with. */
  readonly correlationId?: string;
}

/** What a caller asks for. */
export interface RunRequest<O = unknown> {
  /** Default: the agent that the thread is with, else the only one there is, else `default`. */
  readonly agent?: string;
  /** Default: a new thread. */
  readonly thread?: string;
  /** What is said: a text, or messages. Left out, the agent goes on from what the thread has. */
  readonly input?: string | readonly MessageInput[];
  /** The answer must be JSON that fits; `result.output` is then typed. */
  readonly output?: Schema<O>;
  /** How often an answer that does not fit is asked for again, before the run fails with `output_invalid`. Default 2. */
  readonly outputRetries?: number;
  /** Temperature, length and the like, for this run alone. */
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
  /** Where the run comes from. */
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

const CODE = "invalid_activation";

const refuse = (why: string): never => {
  throw new AwakenError(CODE, `invalid activation: ${why}`);
};

/** From whatever realm it comes. */
const isSignal = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;

const REQUEST: PartRules<RunRequest> = {
  agent: RULES.name,
  thread: RULES.name,
  input: partRule("a string or a list of messages", (value) => typeof value === "string" || Array.isArray(value)),
  output: RULES.schema,
  outputRetries: partRule("a whole number from 0", (value) => Number.isInteger(value) && Number(value) >= 0),
  overrides: RULES.any,
  frontendTools: RULES.list,
  signal: partRule("an AbortSignal", isSignal),
  runId: RULES.name,
  resume: RULES.name,
  decisions: RULES.list,
  trace: RULES.any,
};

const TRACE: PartRules<RunTraceInput> = {
  origin: RULES.oneOf(...ORIGINS),
  runMode: RULES.oneOf(...RUN_MODES),
  adapter: RULES.oneOf(...ADAPTERS),
  parentRunId: RULES.name,
  parentThreadId: RULES.name,
  parentToolCallId: RULES.name,
  sessionId: RULES.name,
  transportRequestId: RULES.name,
  correlationId: RULES.name,
};

const MESSAGE: PartRules<MessageInput> = {
  role: needed(RULES.oneOf("user", "assistant", "system")),
  content: needed(partRule("a string or a list of parts", (value) => typeof value === "string" || Array.isArray(value))),
  id: RULES.name,
};

/** As JSON would have it: callers without our compiler settings may give `undefined` for what they leave out. */
const withoutUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return Array.from(value, withoutUndefined);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[name, withoutUndefined(item)]])));
};

/** The parts of a message, each of them one that can be stored and sent. */
function readParts(id: MessageId, content: readonly UserContent[], index: number): readonly UserContent[] {
  const message = { id, role: "user", content } as const;
  if (messageSchema.fits(message, 0)) return content;
  const read = validateSync(messageSchema, { ...message, content: withoutUndefined(content) });
  if (read.type === "invalid") return refuse(`message ${index} of the input: ${read.message}`);
  return read.value.role === "user" ? read.value.content : content;
}

function toMessage(input: MessageInput, ids: Ids, index: number): Message {
  checkOptions(CODE, `message ${index} of the input`, input, MESSAGE);
  const id = messageId(input.id ?? ids());
  const { content, role } = input;
  const parts: readonly UserContent[] = typeof content === "string" ? [{ type: "text", text: content }] : readParts(id, content, index);
  if (role === "system") return { id, role, content: parts.filter((part) => part.type === "text") };
  return { id, role, content: parts };
}

/** Throws on whatever is no input, of whatever make. */
export function toMessages(input: RunRequest["input"], ids: Ids): readonly Message[] {
  if (input === undefined) return [];
  if (typeof input === "string") return [{ id: messageId(ids()), role: "user", content: [{ type: "text", text: input }] }];
  return reading(CODE, "invalid activation: the input", () => {
    if (!Array.isArray(input)) return refuse("input must be a string or a list of messages");
    const list: readonly MessageInput[] = input;
    // A hole counts too.
    const messages = Array.from(list, (message, index) => toMessage(message, ids, index));
    if (new Set(messages.map((message) => message.id)).size < messages.length) refuse("a message id is there twice");
    return messages;
  });
}

const NO_IDS: readonly MessageId[] = Object.freeze([]);

const namedMessages = (input: RunRequest["input"] = []): readonly MessageId[] =>
  typeof input === "string" ? NO_IDS : input.flatMap(({ id }) => (id === undefined ? [] : [messageId(id)]));

const TOOL: PartRules<ToolDescriptor> = {
  id: needed(RULES.name),
  description: needed(RULES.text),
  parameters: RULES.any,
  category: RULES.text,
  metadata: RULES.any,
};

/** As a record may have it: what clients add of their own is left out. */
function readTool(given: ToolDescriptor): ToolDescriptor {
  if (!isJsonObject(given)) return refuse(`a frontend tool must be an object, got ${describeType(given)}`);
  const { id, description, parameters, category, metadata } = given;
  checkOptions(CODE, "a frontend tool", { id, description, category }, TOOL);
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

function readIntent({ runId: hint, resume, decisions = [], thread }: RunRequest, ids: Ids, clock: Clock): RunIntentInput {
  if (resume === undefined) {
    if (decisions.length > 0) refuse("decisions need the run that they are about: say which to resume");
    return { type: "new", runId: hint === undefined ? undefined : runId(hint) };
  }
  if (thread === undefined) refuse("a run is resumed on its thread: say which");
  if (hint !== undefined) refuse("a run that is resumed has its id already: runId and resume exclude each other");
  return { type: "resume", runId: runId(resume), decisions: readDecisions(decisions, ids, clock, true), seen: undefined };
}

function checkRetries({ outputRetries, output, resume }: RunRequest): void {
  if (outputRetries !== undefined && output === undefined && resume === undefined) refuse("outputRetries needs an output");
}

function checkTrace(trace: RunTraceInput, thread: string | undefined): void {
  if (trace === NO_TRACE) return;
  checkOptions(CODE, "the trace of a run request", trace, TRACE);
  if (thread !== undefined && trace.parentThreadId === thread) refuse(`thread '${thread}' cannot be its own parent`);
}

/** Everything that can be said about a request before anything is looked up. */
export const readRequest = (request: RunRequest, ids: Ids, clock: Clock): RunOrder =>
  reading(CODE, "invalid activation: the request", () => {
    checkOptions(CODE, "a run request", request, REQUEST);
    return toOrder(request, ids, clock);
  });

function toOrder(request: RunRequest, ids: Ids, clock: Clock): RunOrder {
  const { agent, thread, overrides, frontendTools, signal, trace = NO_TRACE } = request;
  checkTrace(trace, thread);
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
  const { parentRunId, parentThreadId, parentToolCallId, sessionId, transportRequestId, correlationId } = trace;
  return {
    threadId: thread,
    runId: run,
    agentId,
    origin: trace.origin ?? "user",
    runMode: trace.runMode ?? "foreground",
    adapter: trace.adapter ?? "internal",
    ...(parentRunId === undefined ? undefined : { parentRunId: runId(parentRunId) }),
    ...(parentThreadId === undefined ? undefined : { parentThreadId: threadId(parentThreadId) }),
    ...(parentToolCallId === undefined ? undefined : { parentToolCallId: toolCallId(parentToolCallId) }),
    ...(sessionId === undefined ? undefined : { sessionId }),
    ...(transportRequestId === undefined ? undefined : { transportRequestId }),
    ...(correlationId === undefined ? undefined : { correlationId }),
  };
}

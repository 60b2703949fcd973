import {
  checkOptions,
  copyJson,
  describeType,
  type InferenceOverride,
  inferenceOverrideSchema,
  isJson,
  isJsonObject,
  type JsonObject,
  needed,
  type PartRules,
  partRule,
  RULES,
  type RunOptions,
  reading,
  runId,
  type Schema,
  type ToolDescriptor,
  threadId,
  validateSync,
} from "@awaken/contract";
import type { OrderIntent, RunOrder } from "../loop/run-order.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import { readDecisions, type TicketDecision } from "./decision-input.ts";
import { type MessageInput, namedMessages, toMessages } from "./message-input.ts";
import { INVALID, refuse } from "./refuse-request.ts";
import { type RunTraceInput, readTrace } from "./run-trace.ts";

/** What becomes of a request where a run is at work on its thread. */
export type OnBusy = "refuse" | "queue" | "interrupt";

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
  /** What the page shows: the model reads it before the newest message, and no log keeps it. */
  readonly frontendContext?: JsonObject;
  /**
   * What the client sent beside its messages: tools and hooks see it, the model does not. It is the client's word: whoever it names is not
   * proven. It is kept with the run and those of its delegates: no secrets in it.
   */
  readonly extras?: JsonObject;
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  /** The id of the new run; it must not exist, unless the run was only created. */
  readonly runId?: string;
  /** Goes on with this run of the thread instead of a new one. */
  readonly resume?: string;
  /** About tickets of the run that is resumed: all or none. */
  readonly decisions?: readonly TicketDecision[];
  /** On whose behalf: tools and hooks see it, and the run keeps it, whoever goes on with it. A run that is resumed has its own. */
  readonly principal?: JsonObject;
  /**
   * Where a run is at work on the thread, here or in another process. `refuse`: with `thread_already_running`. `queue`: it comes behind
   * whatever is at work or queued there, and a worker executes it. `interrupt`: the run at work is cancelled, and its last words are
   * waited for up to 5 s; what is queued is cancelled, and this one begins. When they do not come it is refused. Default `refuse`.
   */
  readonly onBusy?: OnBusy;
  /** Where the run comes from. */
  readonly trace?: RunTraceInput;
}

/** From whatever realm it comes. */
const isSignal = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;

const A_JSON_OBJECT = partRule("a JSON object", (value) => isJsonObject(value) && isJson(value));

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
  onBusy: RULES.oneOf("refuse", "queue", "interrupt"),
  frontendContext: A_JSON_OBJECT,
  extras: A_JSON_OBJECT,
  principal: A_JSON_OBJECT,
  trace: RULES.any,
};

const TOOL: PartRules<ToolDescriptor> = {
  id: needed(RULES.name),
  description: needed(RULES.text),
  parameters: RULES.any,
  category: RULES.text,
  metadata: RULES.any,
};

/** As a record may have it, and the record's own: what clients add of their own is left out. */
function readTool(given: ToolDescriptor): ToolDescriptor {
  if (!isJsonObject(given)) return refuse(`a frontend tool must be an object, got ${describeType(given)}`);
  const { id, description, parameters, category, metadata } = given;
  checkOptions(INVALID, "a frontend tool", { id, description, category }, TOOL);
  for (const part of [parameters, metadata ?? {}]) {
    if (!isJsonObject(part) || !isJson(part)) refuse(`parameters and metadata of the frontend tool '${id}' must be JSON objects`);
  }
  return {
    id,
    description,
    parameters: copyJson(parameters),
    ...(category === undefined ? {} : { category }),
    ...(metadata === undefined ? {} : { metadata: copyJson(metadata) }),
  };
}

function readIntent({ runId: hint, resume, decisions = [], thread }: RunRequest, ids: Ids, clock: Clock): OrderIntent {
  if (resume === undefined) {
    if (decisions.length > 0) refuse("decisions need the run that they are about: say which to resume");
    return { type: "new", runId: hint === undefined ? undefined : runId(hint) };
  }
  if (thread === undefined) refuse("a run is resumed on its thread: say which");
  if (hint !== undefined) refuse("a run that is resumed has its id already: runId and resume exclude each other");
  return { type: "resume", runId: runId(resume), decisions: readDecisions(decisions, ids, clock, true), seen: undefined };
}

function checkBusy({ onBusy = "refuse", resume }: RunRequest): void {
  if (onBusy !== "refuse" && resume !== undefined) refuse("onBusy is for new runs: a run that is resumed is the one that has its thread");
}

function checkRetries({ outputRetries, output, resume }: RunRequest): void {
  if (outputRetries !== undefined && output === undefined && resume === undefined) refuse("outputRetries needs an output");
}

/** Everything that can be said about a request before anything is looked up. */
export const readRequest = (request: RunRequest, ids: Ids, clock: Clock): RunOrder =>
  reading(INVALID, "invalid activation: the request", () => {
    checkOptions(INVALID, "a run request", request, REQUEST);
    return toOrder(request, ids, clock);
  });

/** What is asked of the run, as its record will have it. The answer's schema is code; whoever calls it adds its JSON Schema. */
function readOptions({ overrides, frontendTools, frontendContext, extras, outputRetries }: RunRequest): Partial<RunOptions> {
  if (overrides !== undefined) {
    const checked = validateSync(inferenceOverrideSchema, overrides);
    if (checked.type === "invalid") refuse(`overrides: ${checked.message}`);
  }
  const options: { -readonly [Name in keyof RunOptions]?: RunOptions[Name] } = {};
  if (overrides !== undefined) options.overrides = copyJson(overrides);
  if (frontendTools !== undefined) options.frontendTools = frontendTools.map(readTool);
  if (frontendContext !== undefined) options.frontendContext = copyJson(frontendContext);
  if (extras !== undefined) options.extras = copyJson(extras);
  if (outputRetries !== undefined) options.outputRetries = outputRetries;
  return options;
}

function toOrder(request: RunRequest, ids: Ids, clock: Clock): RunOrder {
  const { agent, thread, signal, principal } = request;
  const trace = readTrace(request);
  checkRetries(request);
  checkBusy(request);
  const options = readOptions(request);
  const intent = readIntent(request, ids, clock);
  const input = toMessages(request.input, ids);
  if (intent.type === "new" && input.length === 0) refuse("there is no input");
  return {
    threadId: threadId(thread ?? ids()),
    isNewThread: thread === undefined ? true : undefined,
    intent,
    input,
    namedMessages: namedMessages(request.input),
    trace,
    principal: copyJson(principal),
    agentId: agent,
    options,
    signal,
  };
}

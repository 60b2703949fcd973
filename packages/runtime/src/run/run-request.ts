import {
  type Adapter,
  AwakenError,
  type InferenceOverride,
  inferenceOverrideSchema,
  type Message,
  messageId,
  type Origin,
  type RunId,
  type RunMode,
  runId,
  type Schema,
  type ThreadId,
  type ToolDescriptor,
  threadId,
  type UserContent,
  validateSync,
} from "@awaken/contract";
import type { AddressedDecision } from "../loop/run-context.ts";
import type { Ids } from "../stream/ids.ts";

/** A message as a caller writes it; the id is made when it is left out. */
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
  /** Default: the agent that the thread is with, else `default`. */
  readonly agent?: string;
  /** Default: a new thread. */
  readonly thread?: string;
  readonly input?: string | readonly MessageInput[];
  /** The answer must be JSON that fits; `result.output` is then typed. */
  readonly output?: Schema<O>;
  readonly overrides?: InferenceOverride;
  /** Tools that the client runs. */
  readonly frontendTools?: readonly ToolDescriptor[];
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  /** The id of the new run; it must not exist. */
  readonly runId?: string;
  readonly trace?: RunTraceInput;
}

/** Goes on with a run, with or without decisions about its tickets. */
export interface RunResume {
  readonly type: "resume";
  readonly runId: RunId;
  readonly decisions: readonly AddressedDecision[];
}

/** Why this activation happens. */
export type RunIntentInput = { readonly type: "new"; readonly runId: RunId | undefined } | RunResume;

const refuse = (why: string): never => {
  throw new AwakenError("invalid_activation", `invalid activation: ${why}`);
};

function checkBlank(name: string, value: string | undefined): void {
  if (value !== undefined && (typeof value !== "string" || value.trim() === "")) refuse(`${name} must be a non-blank string`);
}

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
  return input.map((message) => toMessage(message, ids));
}

/** Everything that can be said about a request before anything is looked up. */
export function checkRequest(request: RunRequest, intent: RunIntentInput): void {
  checkBlank("agent", request.agent);
  checkBlank("thread", request.thread);
  checkBlank("runId", request.runId);
  for (const [name, value] of Object.entries(request.trace ?? {})) checkBlank(`trace.${name}`, value);
  if (request.overrides !== undefined) {
    const checked = validateSync(inferenceOverrideSchema, request.overrides);
    if (checked.type === "invalid") refuse(`overrides: ${checked.message}`);
  }
  if (intent.type === "new" && toMessages(request.input, () => "x").length === 0) refuse("there is no input");
  if (intent.type === "resume") {
    for (const { target, decision } of intent.decisions) {
      checkBlank("decision target", target);
      checkBlank("decision id", decision.id);
    }
  }
}

export const threadOf = (request: RunRequest, ids: Ids): ThreadId => threadId(request.thread ?? ids());
export const newRunId = (request: RunRequest, ids: Ids): RunId => runId(request.runId ?? ids());

import {
  type InferenceRequest,
  isJsonObject,
  type JsonValue,
  type Message,
  messageText,
  messageToolCalls,
  type Provider,
} from "@awaken/contract";
import { allow, ask, defineTool, type RuntimeInit, type Tool } from "@awaken/runtime";
import { type ScriptedTurn, scripted, text, toolCalls } from "@awaken/runtime/testing";
import { thisNode } from "awaken";
import * as z from "zod";
import { random } from "../../inference/support/random.ts";
import type { Outside, OutsideEffect } from "./outside.ts";

// An agent that works through six steps of tool calls. What it asks for follows from the conversation alone, so that any process can
// go on with it, and what must have happened at its end can be told beforehand.

export const STEPS = 6;

/** By what is known about a call whose process died: the tool can look, may be repeated, or only a person can say. */
export const TOOL_NAMES = ["look-up", "repeat", "ask-somebody"] as const;
export type ToolName = (typeof TOOL_NAMES)[number];

export interface Order {
  readonly tool: ToolName;
  readonly order: string;
}

/** What the agent orders in a step of a thread, from 0: one to three calls, of all kinds over the steps. */
export function ordersOf(thread: string, step: number): readonly Order[] {
  const numbers = random(...Buffer.from(thread), step);
  const first = numbers.below(TOOL_NAMES.length);
  return Array.from({ length: 1 + numbers.below(3) }, (_, slot) => ({
    tool: TOOL_NAMES[(first + slot) % TOOL_NAMES.length] ?? "repeat",
    order: `${thread}/${step}/${slot}`,
  }));
}

export const allOrders = (thread: string): readonly Order[] => Array.from({ length: STEPS }, (_, step) => ordersOf(thread, step)).flat();

/** A thread may hear more than one message; the first one says what it is about. */
export const inputId = (thread: string, nth = 0): string => (nth === 0 ? `input-${thread}` : `input-${thread}-${nth}`);
export const inputText = (thread: string): string => `work on ${thread}`;
export const runOf = (thread: string, nth = 0): string => (nth === 0 ? `run-${thread}` : `run-${thread}-${nth}`);

/** Threads at this place of a batch go on with a new message where others are resumed or decided. */
export const isTalkative = (index: number): boolean => index % 3 === 2;

const UNKNOWN = "unknown";

/** The last words of the agent name every receipt, in the order of the calls. */
export const lastWords = (thread: string, receipts: readonly string[]): string => `${thread} is done: ${receipts.join(" ")}`;

/** Whether the agent ended without knowing what became of all its calls. */
export const isUnsure = (words: string): boolean => words.split(" ").includes(UNKNOWN);

/** What a tool said about its effect; undefined when it could not say. */
function receiptOf(said: string): string | undefined {
  if (!said.startsWith("{")) return undefined;
  const told: unknown = JSON.parse(said);
  const receipt = isJsonObject(told) ? told["receipt"] : undefined;
  return typeof receipt === "string" ? receipt : undefined;
}

export function receiptIn(message: Message): string {
  const receipt = receiptOf(messageText(message));
  if (receipt !== undefined) return receipt;
  throw new Error(`no receipt in: ${messageText(message)}`);
}

/** What a model has read about each order, the latest last. */
export function readOrders(messages: readonly Message[]): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  let open = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "tool") read.set(open.get(message.toolCallId) ?? "no order", messageText(message));
    else if (message.role === "assistant") open = new Map(messageToolCalls(message).map(({ id, input }) => [id, orderIn(input)]));
  }
  return read;
}

const orderIn = (input: JsonValue): string => String(isJsonObject(input) ? input["order"] : undefined);

/** What is not in the history, or is said not to have happened, has to be ordered: a call that vanished would happen twice. */
export const isDue = (said: string | undefined): boolean => said === undefined || said.endsWith("did not happen.");

/** Step by step. Ids of calls are the same in every turn of a thread, as some vendors have it. */
function answer({ messages }: InferenceRequest): ScriptedTurn {
  const [question] = messages.filter((message) => message.role === "user");
  const thread = question === undefined ? "" : messageText(question).slice(inputText("").length);
  const read = readOrders(messages);
  for (let step = 0; step < STEPS; step++) {
    const due = ordersOf(thread, step).filter(({ order }) => isDue(read.get(order)));
    const calls = due.map(({ tool, order }, slot) => ({ name: tool, input: { order }, id: `${thread}-call-${slot}` }));
    if (calls.length > 0) return toolCalls(calls, { say: `step ${step}` });
  }
  const receipts = allOrders(thread).map(({ order }) => receiptOf(read.get(order) ?? "") ?? UNKNOWN);
  return text(lastWords(thread, receipts));
}

const MAX_TURNS = 10_000;

export const model = (): Provider => scripted(new Array(MAX_TURNS).fill(answer));

/** Around each effect. */
export interface EffectPoints {
  before(order: string): void | Promise<void>;
  after(): void;
}

/** The orders of this step wait for somebody's consent first. */
export const CONSENT_STEP = 3;

const input = z.object({ order: z.string() });
const consent = ({ order }: z.output<typeof input>) =>
  order.split("/")[1] === String(CONSENT_STEP) ? ask(`May '${order}' happen?`) : allow();
const told = ({ order, receipt }: OutsideEffect) => ({ order, receipt });

export function tools(outside: Outside, points: EffectPoints): readonly Tool[] {
  const effect = async (order: string, happen: () => OutsideEffect) => {
    await new Promise(setImmediate);
    await points.before(order);
    const happened = happen();
    points.after();
    return told(happened);
  };
  const described = { description: "Has an effect outside", input, approve: consent };
  const [lookUp, repeat, askSomebody] = TOOL_NAMES;
  return [
    defineTool({
      ...described,
      id: lookUp,
      execute: ({ order }, { idempotencyKey }) => effect(order, () => outside.happen(order, idempotencyKey)),
      reconcile: (_, { idempotencyKey }) => {
        const found = outside.underKey(idempotencyKey);
        return found === undefined ? { type: "not-done" } : { type: "done", data: told(found) };
      },
    }),
    defineTool({
      ...described,
      id: repeat,
      idempotent: true,
      execute: ({ order }, { idempotencyKey }) => effect(order, () => outside.happenOnce(order, idempotencyKey)),
    }),
    defineTool({
      ...described,
      id: askSomebody,
      execute: ({ order }, { idempotencyKey }) => effect(order, () => outside.happen(order, idempotencyKey)),
    }),
  ];
}

export const AGENT = "worker";

export const runtimeInit = (outside: Outside, points: EffectPoints): RuntimeInit => ({
  providers: { scripted: model() },
  models: { steady: { provider: "scripted", model: "scripted-1" } },
  agents: { [AGENT]: { model: "steady", maxSteps: 2 * STEPS } },
  tools: tools(outside, points),
  // The process that comes next knows that this one is gone, and nobody but the test goes on with what it left.
  node: thisNode(),
  workers: false,
});

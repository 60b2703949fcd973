import { type InferenceRequest, messageText, messageToolCalls, type Provider } from "@awaken/contract";
import type { RuntimeInit } from "@awaken/runtime";
import { type ScriptedTurn, scripted, text, toolCalls } from "@awaken/runtime/testing";
import { type EffectPoints, type Order, TOOL_NAMES, type ToolName, tools } from "./agent.ts";
import type { Outside } from "./outside.ts";

// An agent that buys three things in one turn, with a tool of each kind. It orders again whatever its history does not show, and what it
// is told did not happen: a call that vanished would happen twice.

export const orderOf = (tool: ToolName): string => `buy/0/${tool}`;

export const ORDERS: readonly Order[] = TOOL_NAMES.map((tool) => ({ tool, order: orderOf(tool) }));

/** What a model has read about each order. */
export type Read = Readonly<Record<string, string>>;

function readOrders({ messages }: InferenceRequest): Map<string, string> {
  const read = new Map<string, string>();
  let open = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "tool") read.set(open.get(message.toolCallId) ?? "no order", messageText(message));
    else if (message.role === "assistant")
      open = new Map(messageToolCalls(message).map(({ id, input }) => [id, Object(input).order] as const));
  }
  return read;
}

/** Ids of calls are the same in every turn, as some vendors have it. When nothing is left to order it says what it has read. */
function answer(request: InferenceRequest): ScriptedTurn {
  const read = readOrders(request);
  const due = ORDERS.filter(({ order }) => read.get(order)?.endsWith("did not happen.") ?? true);
  if (due.length === 0) return text(JSON.stringify(Object.fromEntries(read)));
  return toolCalls(due.map(({ tool, order }, index) => ({ name: tool, input: { order }, id: `call-${index}` })));
}

const MAX_TURNS = 20;

const model = (): Provider => scripted(new Array(MAX_TURNS).fill(answer));

export const BUYER = "buyer";

export const buyerInit = (outside: Outside, points: EffectPoints): RuntimeInit => ({
  providers: { scripted: model() },
  models: { steady: { provider: "scripted", model: "scripted-1" } },
  agents: { [BUYER]: { model: "steady", maxSteps: MAX_TURNS } },
  tools: tools(outside, points),
});

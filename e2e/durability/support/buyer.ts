import type { InferenceRequest, Provider } from "@awaken/contract";
import type { RuntimeInit } from "@awaken/runtime";
import { type ScriptedTurn, scripted, text, toolCalls } from "@awaken/runtime/testing";
import { type EffectPoints, isDue, type Order, readOrders, TOOL_NAMES, type ToolName, tools } from "./agent.ts";
import type { Outside } from "./outside.ts";

// An agent that buys three things in one turn, with a tool of each kind. It orders again whatever its history does not show, and what it
// is told did not happen: a call that vanished would happen twice.

export const orderOf = (tool: ToolName): string => `buy/0/${tool}`;

export const ORDERS: readonly Order[] = TOOL_NAMES.map((tool) => ({ tool, order: orderOf(tool) }));

/** What a model has read about each order. */
export type Read = Readonly<Record<string, string>>;

/** Ids of calls are the same in every turn, as some vendors have it. When nothing is left to order it says what it has read. */
function answer({ messages }: InferenceRequest): ScriptedTurn {
  const read = readOrders(messages);
  const due = ORDERS.filter(({ order }) => isDue(read.get(order)));
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

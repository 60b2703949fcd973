import { type InferenceRequest, type Message, messageText, messageToolCalls, type Provider } from "@awaken/contract";
import { ask, defineTool, type RuntimeInit, type Tool } from "@awaken/runtime";
import { type ScriptedTurn, scripted, text, toolCalls } from "@awaken/runtime/testing";
import * as z from "zod";
import { isDue, readOrders } from "../../durability/support/agent.ts";
import type { Execution, World } from "./world.ts";

// An agent that does what it is told: what it asks for follows from the conversation alone, so that any process can go on with it.

/** By the letter that a message names it with. `sign` waits for somebody's consent. */
export const TOOLS = { i: "repeat", p: "look", r: "find", s: "sign" } as const;
type Letter = keyof typeof TOOLS;
const isLetter = (value: string): value is Letter => Object.hasOwn(TOOLS, value);

/** Steps are words of letters: `ip.r` is one step with two calls, and one with one. */
export const taskText = (order: string, steps: readonly string[]): string => `do ${order} ${steps.join(".")}`;
export const noteText = (id: string): string => `note ${id}`;

interface Call {
  readonly name: string;
  readonly order: string;
}

interface Task {
  readonly order: string;
  readonly steps: readonly (readonly Call[])[];
}

function readTask(message: Message): Task[] {
  const [verb, order = "", plan = ""] = messageText(message).split(" ");
  if (message.role !== "user" || verb !== "do") return [];
  const steps = plan
    .split(".")
    .map((step, nth) => [...step].filter(isLetter).map((letter, slot) => ({ name: TOOLS[letter], order: `${order}/${nth}/${slot}` })));
  return [{ order, steps }];
}

/** What was said since the last answer. */
function stretchOf(messages: readonly Message[]): readonly Message[] {
  const last = messages.findLastIndex((message) => message.role === "assistant" && messageToolCalls(message).length === 0);
  return messages.slice(last + 1);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const upTo = (ms: number): number => Math.floor(Math.random() * ms);

/** A model takes its time, and says things bit by bit. */
const slowly = ({ items }: ScriptedTurn): ScriptedTurn => ({
  items: items.flatMap((item): ScriptedTurn["items"][number][] => [{ type: "wait", ms: upTo(8) }, item]),
});

function answer({ messages }: InferenceRequest): ScriptedTurn {
  const stretch = stretchOf(messages);
  const read = readOrders(stretch);
  const tasks = stretch.flatMap(readTask);
  for (const { steps } of tasks) {
    for (const [nth, calls] of steps.entries()) {
      const due = calls.filter((call) => isDue(read.get(call.order)));
      if (due.length === 0) continue;
      const made = due.map((call) => ({ name: call.name, input: { order: call.order }, id: call.order }));
      return slowly(toolCalls(made, { say: `step ${nth}` }));
    }
  }
  return slowly(text("done ", ...tasks.map(({ order }) => `${order} `)));
}

const model: Provider = {
  name: "obedient",
  stream: (request, options) => scripted([answer]).stream(request, options),
};

const input = z.object({ order: z.string() });
const told = ({ order, receipt }: Execution) => ({ order, receipt });

/** Work after an effect: whoever dies now has had it, and nobody has heard of it. */
const TOOL_MS = 40;

function tools(world: World): readonly Tool[] {
  const after = async (execution: Execution) => {
    await pause(upTo(TOOL_MS));
    return told(execution);
  };
  const described = { description: "Has an effect outside", input };
  return [
    defineTool({
      ...described,
      id: TOOLS.i,
      idempotent: true,
      execute: ({ order }, { idempotencyKey }) => after(world.happenOnce(TOOLS.i, order, idempotencyKey)),
    }),
    defineTool({
      ...described,
      id: TOOLS.p,
      pure: true,
      execute: ({ order }, { idempotencyKey }) => after(world.happenOnce(TOOLS.p, order, idempotencyKey)),
    }),
    defineTool({
      ...described,
      id: TOOLS.r,
      execute: ({ order }, { idempotencyKey }) => after(world.happen(TOOLS.r, order, idempotencyKey)),
      reconcile: ({ order }, { idempotencyKey }) => {
        const found = world.underKey(order, idempotencyKey);
        return found === undefined ? { type: "not-done" } : { type: "done", data: told(found) };
      },
    }),
    defineTool({
      ...described,
      id: TOOLS.s,
      idempotent: true,
      approve: ({ order }) => ask(`May '${order}' happen?`),
      execute: ({ order }, { idempotencyKey }) => after(world.happenOnce(TOOLS.s, order, idempotencyKey)),
    }),
  ];
}

export const runtimeInit = (world: World): RuntimeInit => ({
  providers: { obedient: model },
  models: { steady: { provider: "obedient", model: "m" } },
  agents: { default: { model: "steady", maxSteps: 100 } },
  tools: tools(world),
  streamCheckpoints: true,
});

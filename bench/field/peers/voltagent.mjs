// VoltAgent around the AI SDK's streamText. Its tracing cannot be turned off: spans are made, and a store that keeps nothing drops them.
import { Agent, createTool, createVoltAgentObservability, InMemoryStorageAdapter, Memory } from "@voltagent/core";
import { z } from "zod";
import { echo, INSTRUCTIONS, TOOL, USER } from "../scenario.ts";
import { aiSdkModel } from "./ai-sdk-model.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

const echoTool = createTool({
  name: TOOL.name,
  description: TOOL.description,
  parameters: z.strictObject({ text: z.string(), n: z.number() }),
  execute: async (input) => echo(input),
});

const readsMany = /^(get|list|query)/;
const keepsNothing = new Proxy(
  {},
  { get: (_, key) => (key === "then" ? undefined : async () => (readsMany.test(String(key)) ? [] : undefined)) },
);
const observability = createVoltAgentObservability({
  storage: keepsNothing,
  flushOnFinishStrategy: "never",
  voltOpsSync: { sampling: { strategy: "never" } },
});

let ids = 0;

async function play(agent, input, options) {
  const result = await agent.streamText(input, options);
  let text = "";
  let deltas = 0;
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type !== "text-delta") continue;
    text += part.text;
    deltas += 1;
  }
  return { text, deltas };
}

const createAgent = (scenario, memory) =>
  new Agent({
    name: "bench",
    instructions: INSTRUCTIONS,
    model: aiSdkModel(scenario, "v3"),
    tools: [echoTool],
    maxSteps: 64,
    maxRetries: 0,
    observability,
    memory,
  });

/** Copies of the thread's first turn under new ids. */
async function seed(storage, conversationId, turns) {
  const stored = await storage.getMessages("user", conversationId);
  const first = ["user", "assistant"].map((role) => stored.find((message) => message.role === role));
  for (let turn = 0; turn < turns; turn++) {
    ids += 1;
    const copies = first.map((message) => ({ ...structuredClone(message), id: `seed-${message.role}-${ids}` }));
    for (const { parts } of copies) for (const part of parts) if (part.toolCallId) part.toolCallId = `seed_${ids}`;
    await storage.addMessages(copies, "user", conversationId);
  }
}

export function open() {
  return {
    startRun(scenario) {
      const agent = createAgent(scenario, false);
      return () => play(agent, USER, {});
    },
    startThread(scenario) {
      const storage = new InMemoryStorageAdapter();
      const agent = createAgent(scenario, new Memory({ storage }));
      const memory = { userId: "user", conversationId: "t", options: { contextLimit: 100_000 } };
      return {
        turn: (input) => play(agent, input, { memory }),
        seed: (turns) => seed(storage, "t", turns),
      };
    },
  };
}

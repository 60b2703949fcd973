/** `awaken.config.ts` of a new project. */
export const CONFIG_TEMPLATE = `import { allow, ask, defineTool } from "awaken";
import { defineConfig, vendorFromEnv } from "awaken/config";
import * as z from "zod";
import { demoModel } from "./demo-model.ts";

const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, tempC: 10 + (city.length % 20) }),
});

// Above 100 a person has to approve. The run waits for that as long as it takes, in the database.
const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ orderId: z.string(), amount: z.number() }),
  approve: ({ orderId, amount }) => (amount > 100 ? ask("Refund " + amount + " for order " + orderId + "?") : allow()),
  execute: async ({ orderId, amount }) => ({ orderId, refunded: amount }),
});

// With OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY this is that vendor; else a model that needs no key.
const llm = await vendorFromEnv({ whenNotInstalled: "otherwise", otherwise: { provider: demoModel, model: "demo" } });

export default defineConfig({
  providers: { main: llm.provider },
  models: { main: { provider: "main", model: llm.model } },
  agents: {
    assistant: {
      model: "main",
      description: "Knows the weather and refunds orders",
      instructions: "Be brief. Use your tools when they help.",
    },
  },
  tools: [weather, refund],
});
`;

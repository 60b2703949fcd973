// What `npm start` talks to. The same file serves every command: `npx awaken --help` lists them.
import { defineConfig, vendorFromEnv } from "awaken/config";
import * as z from "zod";
import { demoModel } from "./demo-model.ts";
import { refund, report, weather } from "./tools.ts";

const llm = await vendorFromEnv({ otherwise: { provider: demoModel(), model: "demo" } });

const plan = z.object({
  goal: z.string(),
  steps: z.array(z.object({ task: z.string(), day: z.number().int() })),
});

export default defineConfig({
  providers: { main: llm.provider },
  models: { main: { provider: "main", model: llm.model } },
  agents: {
    assistant: {
      model: "main",
      description: "Knows the weather, refunds orders and writes reports",
      instructions: "Be brief. Use your tools when they help. Never invent the result of a tool.",
    },
    planner: {
      model: "main",
      description: "Makes plans; its answers are data",
      instructions: "Plan what you are asked for, in three to six steps.",
      tools: [],
    },
  },
  tools: [weather, refund, report],
  outputs: { planner: plan },
});

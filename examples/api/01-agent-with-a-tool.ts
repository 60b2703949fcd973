// biome-ignore-all format: as printed in docs/api.md
// biome-ignore-all assist/source/organizeImports: as printed in docs/api.md
// biome-ignore-all lint/correctness/noUnusedFunctionParameters: as printed in docs/api.md
import { createRuntime, defineTool } from "awaken";
import { openai } from "@ai-sdk/openai";
import { z } from "zod";                                    // or any Standard Schema library

const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: async ({ city }, ctx) => ({ city, tempC: 21 }), // ctx: signal, idempotencyKey, state, progress, resume, profile, identity
});

const runtime = createRuntime({
  providers: { openai },                                    // an AI SDK provider, or our own Provider
  models: { fast: { provider: "openai", model: "gpt-5-mini" } },
  agents: { assistant: { model: "fast", instructions: "Be brief." } },   // plain, serialisable specs
  tools: [weather],
});

const result = await runtime.run({ agent: "assistant", thread: "t1", input: "Weather in Oslo?" });
if (result.status === "failed") throw new Error(result.error.message);     // done | waiting | stopped | cancelled | blocked | failed
console.log(result.text, result.usage);

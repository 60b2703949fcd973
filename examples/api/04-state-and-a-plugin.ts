// biome-ignore-all format: as printed in docs/api.md
import { openai } from "@ai-sdk/openai";
import { block, command, createRuntime, definePlugin, defineState, defineTool } from "awaken";
import { z } from "zod";

export const spend = defineState("budget.spend", {
  scope: "thread",
  schema: z.object({ cents: z.number() }),
  initial: () => ({ cents: 0 }),
  apply: (value, update: { add: number }) => ({ cents: value.cents + update.add }),
  merge: "commutative",                                     // safe when tools run in parallel
});

export const budget = definePlugin({
  id: "budget",
  config: z.object({ capCents: z.number().default(500) }),
  register(r, config) {
    r.state(spend);
    r.gate(({ state }) => ((state.get(spend)?.cents ?? 0) >= config.capCents ? block("budget used up") : undefined));
    r.hook("afterInference", ({ turn }) => command().update(spend, { add: turn.usage.totalTokens / 100 }));
  },
});

const search = defineTool({ id: "search", description: "Finds pages", input: z.object({}), execute: () => ["a page"] });

const runtime = createRuntime({
  providers: { openai },
  models: { fast: { provider: "openai", model: "gpt-5-mini" } },
// agents: { assistant: { model: "fast", plugins: ["budget"], sections: { budget: { capCents: 300 } } } }
  agents: { assistant: { model: "fast", plugins: ["budget"], sections: { budget: { capCents: 300 } } } },
  plugins: [budget],
  tools: [search],
});

// The state is the thread's: what the first run spends, the second one finds spent.
for (const input of ["Search for a hotel", "Search for a better hotel"]) {
  const { text, termination } = await runtime.run({ agent: "assistant", thread: "t1", input });
  console.log(text || "-", termination);
}

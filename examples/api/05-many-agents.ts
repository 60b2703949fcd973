// biome-ignore-all format: as printed in docs/api.md
import { openai } from "@ai-sdk/openai";
import { ask, createRuntime, defineTool } from "awaken";
import { z } from "zod";

const search = defineTool({
  id: "search",
  description: "Search the archive",
  input: z.object({ query: z.string() }),
  approve: ({ query }) => ask(`Search for ${query}?`),
  execute: ({ query }) => `42 chairs (${query})`,
});

const runtime = createRuntime({
  providers: { openai },
  models: { smart: { provider: "openai", model: "gpt-5" }, fast: { provider: "openai", model: "gpt-5-mini" } },
  tools: [search],
  agents: {
    lead: { model: "smart", instructions: "Delegate, then answer.", delegates: ["researcher", "legal"], handoffs: ["billing"] },
    researcher: { model: "fast", description: "Finds facts", tools: ["search"] },
    billing: { model: "fast", description: "Owns invoices" },
    legal: { remote: { a2a: "https://legal.example.com" } },
  },
});

const first = await runtime.run({ agent: "lead", thread: "t5", input: "Bill what we sold in May" });
for (const ticket of first.status === "waiting" ? first.tickets : []) {       // of the researcher, shown and decided where you started
  const run = await runtime.decide(ticket.id, { action: "approve" });
  const done = await run.result;

  console.log(ticket.agentPath?.join(" > "), ticket.message);
  console.log(done.status, done.text, done.usageByAgent.map(({ agentPath, usage }) => `${agentPath.join(" > ")}: ${usage.totalTokens}`));
}

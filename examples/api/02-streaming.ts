// biome-ignore-all format: as printed in docs/api.md
import { openai } from "@ai-sdk/openai";
import { createRuntime, defineTool } from "awaken";
import { z } from "zod";

const calendar = defineTool({
  id: "calendar",
  description: "The appointments of a day",
  input: z.object({ day: z.string() }),
  execute: () => ["09:00 dentist"],
});

const runtime = createRuntime({
  providers: { openai },
  models: { fast: { provider: "openai", model: "gpt-5-mini" } },
  agents: { assistant: { model: "fast" } },
  tools: [calendar],
});
const { signal } = new AbortController();

const run = runtime.stream({ agent: "assistant", thread: "t1", input: "Plan my day", signal });
for await (const event of run) {                            // a discriminated union on `type`
  if (event.type === "text-delta") process.stdout.write(event.delta);
  if (event.type === "tool-call-end") console.log(event.toolName, event.outcome);
}
const { text, steps, termination } = await run.result;
await runtime.cancel(run.id);                               // by run id or thread id; leaving the loop only detaches

console.log(`\n${text.length} characters, ${steps} steps, ${termination.type}`);

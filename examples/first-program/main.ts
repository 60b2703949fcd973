// One agent, two tools, one approval. The model is scripted, so this runs without a key:
// the weather is asked for twice in parallel, then a refund has to be approved by a person.
import { allow, ask, createRuntime, defineTool, memoryStore } from "awaken";
import { scripted, text, toolCall, toolCalls } from "awaken/testing";
import * as z from "zod";

const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, tempC: city === "Oslo" ? 21 : 27 }),
});

const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ orderId: z.string(), amount: z.number() }),
  approve: ({ amount }) => (amount > 100 ? ask(`Refund ${amount}?`) : allow()),
  execute: async ({ orderId, amount }, ctx) => ({ orderId, refunded: amount, key: ctx.idempotencyKey }),
});

const model = scripted([
  toolCalls([
    { name: "weather", input: { city: "Oslo" } },
    { name: "weather", input: { city: "Rome" } },
  ]),
  text("Oslo has 21 degrees, ", "Rome has 27."),
  toolCall("refund", { orderId: "7", amount: 120 }),
  text("Done: 90 are on their way."),
]);

const store = memoryStore();
const open = () =>
  createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { support: { model: "fast", instructions: "Be brief." } },
    tools: [weather, refund],
    store,
  });

const runtime = open();
console.log("> Weather in Oslo and Rome?");
for await (const event of runtime.stream({ agent: "support", thread: "t1", input: "Weather in Oslo and Rome?" })) {
  if (event.type === "text-delta") process.stdout.write(event.delta);
  if (event.type === "tool-call-end") console.log(`  [${event.toolName} ${event.outcome}]`);
}

console.log("\n\n> Refund order 7");
const first = await runtime.run({ agent: "support", thread: "t1", input: "Refund order 7" });
if (first.status !== "waiting") throw new Error("the refund should wait for an approval");
const [ticket] = first.tickets;
if (ticket === undefined) throw new Error("the refund should have a ticket");
console.log(`  [${first.status}: ${ticket.message} ${JSON.stringify(ticket.input)}]`);

// Days later, in a process that knows nothing but the store: the amount is edited, and approved.
const later = open();
await later.decide(ticket.id, { action: "approve", input: { orderId: "7", amount: 90 }, by: "ana" });
const done = await later.wait(first.runId);
console.log(`${done.text}\n  [${done.status}, ${done.steps} steps, ${done.usage.totalTokens} tokens]`);
model.assertDone();

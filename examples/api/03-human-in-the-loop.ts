// biome-ignore-all format: as printed in docs/api.md
// biome-ignore-all lint/correctness/noUnusedVariables: as printed in docs/api.md
import { openai } from "@ai-sdk/openai";
import { allow, ask, createRuntime, defineTool } from "awaken";
import { z } from "zod";

// A payment service that knows idempotency keys: the same key twice pays once.
const paid = new Map<string, { orderId: string; amount: number }>();
const payments = {
  async refund(order: { orderId: string; amount: number }, { idempotencyKey }: { idempotencyKey: string }) {
    if (!paid.has(idempotencyKey)) paid.set(idempotencyKey, order);
    return { refunded: order.amount };
  },
};

const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ orderId: z.string(), amount: z.number() }),
  approve: ({ amount }) => (amount > 100 ? ask(`Refund ${amount}?`) : allow()),
  execute: (input, ctx) => payments.refund(input, { idempotencyKey: ctx.idempotencyKey }),
});

const runtime = createRuntime({
  providers: { openai },
  models: { fast: { provider: "openai", model: "gpt-5-mini" } },
  agents: { support: { model: "fast" } },
  tools: [refund],
});

const first = await runtime.run({ agent: "support", thread: "t9", input: "Refund order 7" });
if (first.status === "waiting") {
  const [ticket] = first.tickets;                           // days later, in another process, in any order
  const run = await runtime.decide(ticket.id, { action: "approve", input: { ...ticket.input, amount: 90 }, by: "ana" });
  for await (const event of run) { /* what comes of it, as in 2 */ }
  const done = await run.result;

  console.log(ticket.message, done.status, done.text, [...paid.values()]);
}

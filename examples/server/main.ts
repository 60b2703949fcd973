// Agents over HTTP: two tenants with a key each, a stream, an approval that another client decides, and a server that is stopped while a run
// waits and started again. The model is scripted, so this runs without a key of a vendor.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, createRuntime, defineTool } from "awaken";
import { createClient } from "awaken/client";
import { apiKeys, hashApiKey, serve } from "awaken/server";
import { sqliteStore } from "awaken/sqlite";
import { type ScriptStep, scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

const refund = defineTool({
  id: "refund",
  description: "Pays an amount back",
  input: z.object({ amount: z.number() }),
  approve: ({ amount }) => ask(`Refund ${amount}?`),
  execute: ({ amount }) => `${amount} is refunded`,
});

// What the model says follows from what it reads: any server can go on with a run of another.
const clerk: ScriptStep = ({ messages }) =>
  messages.at(-1)?.role === "tool" ? text("It is on its way.") : toolCall("refund", { amount: 120 });

const folder = mkdtempSync(join(tmpdir(), "awaken-example-server-"));
const KEYS = { acme: "a-long-random-key-of-acme", globex: "a-long-random-key-of-globex" };
const access = apiKeys([
  { hash: await hashApiKey(KEYS.acme), scopeId: "acme", principal: { user: "ana" } },
  { hash: await hashApiKey(KEYS.globex), scopeId: "globex" },
]);

async function start(port = 0) {
  const store = sqliteStore(join(folder, "awaken.db"));
  const runtime = createRuntime({
    providers: { house: scripted([clerk, clerk]) },
    models: { fast: { provider: "house", model: "scripted-1" } },
    agents: { clerk: { model: "fast", instructions: "Be kind." } },
    tools: [refund],
    store,
  });
  const server = await serve({ runtime, port, access });
  return {
    ...server,
    async stop() {
      await server.close();
      await store.close();
    },
  };
}

const first = await start();
const acme = createClient({ url: first.url, token: KEYS.acme });
const globex = createClient({ url: first.url, token: KEYS.globex });

console.log("> I want my money back.");
const run = acme.stream({ agent: "clerk", thread: "order-7", input: "I want my money back." });
for await (const event of run) if (event.type === "ticket-open") console.log(`  waits: ${event.ticket.message}`);
console.log(`acme has ${(await acme.threads.list()).total} thread, globex ${(await globex.threads.list()).total}`);

await first.stop();
const second = await start(first.port);
console.log("the server was stopped and started again");

const { tickets } = await acme.wait(await run.id).then((result) => (result.status === "waiting" ? result : { tickets: [] }));
for (const ticket of tickets) {
  const decided = await acme.decide(ticket.id, { action: "approve", input: { amount: 90 }, by: "ana" });
  for await (const event of decided) if (event.type === "tool-call-resumed") console.log(`  ${event.toolName}: ${event.result}`);
  const result = await decided.result;
  console.log(`${result.text} [${result.status}]`);
}
await second.stop();
rmSync(folder, { recursive: true, force: true });

// The process dies after the bank has charged the card and before anybody could write that down. Started again, it charges once.
//
//   node --conditions=awaken-source main.ts die     charges, and is killed
//   node --conditions=awaken-source main.ts         goes on: asks the bank what happened
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRuntime, defineTool } from "awaken";
import { sqliteStore } from "awaken/sqlite";
import { scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

const charges = z.record(z.string(), z.object({ cents: z.number(), receipt: z.string() }));

/** A bank, as far as we can see it: a file that is not ours. */
const bank = {
  book: (): z.infer<typeof charges> => (existsSync("bank.json") ? charges.parse(JSON.parse(readFileSync("bank.json", "utf8"))) : {}),
  charge(cents: number, key: string) {
    const book = bank.book();
    const entry = { cents, receipt: `receipt-${Object.keys(book).length + 1}` };
    writeFileSync("bank.json", JSON.stringify({ ...book, [key]: entry }));
    return entry;
  },
};

const charge = defineTool({
  id: "charge",
  description: "Charges the customer's card",
  input: z.object({ cents: z.number().int().positive() }),
  execute: ({ cents }, ctx) => {
    const { receipt } = bank.charge(cents, ctx.idempotencyKey);
    if (process.argv[2] === "die") process.kill(process.pid, "SIGKILL");
    return { receipt };
  },
  // Only asked when a call was begun and nobody knows what became of it.
  reconcile: (_input, ctx) => {
    const found = bank.book()[ctx.idempotencyKey];
    return found === undefined ? { type: "not-done" } : { type: "done", data: { receipt: found.receipt } };
  },
});

const store = sqliteStore("crash.db");
const { items: cutOff } = await store.runs.list({ statuses: ["running"] });
const [run] = cutOff;
const runtime = createRuntime({
  providers: { demo: scripted(run === undefined ? [toolCall("charge", { cents: 1200 }), text("Paid.")] : [text("Paid.")]) },
  models: { fast: { provider: "demo", model: "demo-1" } },
  agents: { till: { model: "fast" } },
  tools: [charge],
  store,
});

const result = await (run === undefined ? runtime.run({ agent: "till", thread: "t1", input: "Take 12.00" }) : runtime.resume(run.runId));
console.log(run === undefined ? "paid:" : "went on:", result.text, Object.values(bank.book()));

import { runId, type Store, threadId } from "@awaken/contract";
import { expect } from "vitest";
import { allOrders, inputId, lastWords, receiptIn, runOf } from "./agent.ts";
import { eventsOf, expectValidLog, logOf } from "./history.ts";
import type { Outside } from "./outside.ts";

const ENDINGS = new Set(["run-finished", "run-cancelled", "run-errored", "run-terminated"]);

/** Everything that was ordered happened once, and log, record, ledger and events say the same about it. */
export async function expectWhole(store: Store, outside: Outside, thread: string): Promise<void> {
  const rows = await logOf(store, threadId(thread));
  const view = expectValidLog(rows, thread);
  const orders = allOrders(thread);
  const effects = outside.effects().filter((effect) => effect.order.startsWith(`${thread}/`));
  const byOrder = new Map(effects.map((effect) => [effect.order, effect]));
  expect(effects.map((effect) => effect.order).sort(), thread).toEqual(orders.map(({ order }) => order).sort());

  const receipts = orders.map(({ order }) => byOrder.get(order)?.receipt ?? order);
  const run = await store.runs.load(runId(runOf(thread)));
  expect(run, thread).toMatchObject({
    status: "done",
    outcome: { termination: { type: "natural-end" }, response: lastWords(thread, receipts) },
  });
  expect(rows.filter(({ message }) => message.role === "user").map(({ message }) => message.id)).toEqual([inputId(thread)]);
  expect(view.filter((message) => message.role === "tool").map(receiptIn), thread).toEqual(receipts);

  const ledger = await store.ledger.list(runId(runOf(thread)));
  expect(new Set(ledger.map((entry) => entry.idempotencyKey)), thread).toEqual(new Set(effects.map((effect) => effect.key)));
  for (const entry of ledger) {
    const effect = effects.find(({ key }) => key === entry.idempotencyKey);
    const data = { order: effect?.order, receipt: effect?.receipt };
    // A call that somebody answered for never ran to an end of its own.
    if (entry.status === "suspended") expect(entry.toolName, thread).toBe("ask-somebody");
    else expect(entry, entry.idempotencyKey).toMatchObject({ status: "finished", result: { type: "success", data } });
  }

  const events = await eventsOf(store, threadId(thread));
  const committed = events.filter(({ kind }) => kind === "message-committed").map(({ payload }) => payload["messageSeq"]);
  expect(committed, thread).toEqual(rows.map((row) => row.seq));
  expect(events.filter(({ kind }) => ENDINGS.has(kind)).map(({ kind }) => kind)).toEqual(["run-finished"]);
}

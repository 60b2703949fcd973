import { type RunId, type RunRecord, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { expect } from "vitest";
import { allOrders, inputId, lastWords, readOrders, receiptIn } from "./agent.ts";
import { eventsOf, expectValidLog, logOf } from "./history.ts";
import type { Outside, OutsideEffect } from "./outside.ts";

const ENDINGS = new Set(["run-finished", "run-cancelled", "run-errored", "run-terminated"]);

/** How a thread came to its end. */
export interface Whole {
  /** Messages that it heard after the first one. */
  readonly further: number;
  /** Tickets that a message closed. */
  readonly closed: number;
  /** Calls whose outcome somebody put on record afterwards. */
  readonly found: number;
}

/**
 * Everything that was ordered happened once, and log, records, ledger and events say the same about it. A thread that is not talkative
 * has one message and one run.
 */
export async function expectWhole(store: Store, outside: Outside, thread: string, isTalkative = false): Promise<Whole> {
  const rows = await logOf(store, threadId(thread));
  const view = expectValidLog(rows, thread);
  const orders = allOrders(thread);
  const effects = outside.effects().filter((effect) => effect.order.startsWith(`${thread}/`));
  const byOrder = new Map(effects.map((effect) => [effect.order, effect]));
  expect(effects.map((effect) => effect.order).sort(), thread).toEqual(orders.map(({ order }) => order).sort());

  const receipts = orders.map(({ order }) => byOrder.get(order)?.receipt ?? order);
  const runs = (await store.runs.list({ threadId: threadId(thread), limit: 100 })).items;
  expectEnded(runs, thread, lastWords(thread, receipts));
  const heard = rows.filter(({ message }) => message.role === "user").map(({ message }) => message.id);
  expect(heard, thread).toEqual(heard.map((_, nth) => inputId(thread, nth)));
  if (!isTalkative) {
    expect([heard.length, runs.length], thread).toEqual([1, 1]);
    expect(view.filter((message) => message.role === "tool").map(receiptIn), thread).toEqual(receipts);
  }
  const told = readOrders(view);
  expect([...told.keys()].sort(), thread).toEqual(orders.map(({ order }) => order).sort());
  for (const { order, receipt } of effects) expect(JSON.parse(told.get(order) ?? ""), order).toEqual({ order, receipt });

  const keys = new Set<string>();
  for (const run of runs) for (const key of await expectLedger(store, run.runId, effects, isTalkative)) keys.add(key);
  expect(
    effects.filter(({ key }) => !keys.has(key)),
    thread,
  ).toEqual([]);
  const events = await eventsOf(store, threadId(thread));
  const committed = events.filter(({ kind }) => kind === "message-committed").map(({ payload }) => payload["messageSeq"]);
  expect(committed, thread).toEqual(rows.map((row) => row.seq));
  const endings = events.filter(({ kind }) => ENDINGS.has(kind));
  expect(new Set(endings.map(({ runId }) => runId)), thread).toEqual(new Set(runs.map((run) => run.runId)));
  expect([endings.length, endings.at(-1)?.kind], thread).toEqual([runs.length, "run-finished"]);
  const closed = runs.flatMap((run) => (run.closed ?? []).filter(({ closedBy }) => closedBy !== undefined)).length;
  return { further: heard.length - 1, closed, found: events.filter(({ kind }) => kind === "outcome-found").length };
}

/** All are over: the last one with everything that there is to say, the others with what they knew, or left behind by a message. */
function expectEnded(runs: readonly RunRecord[], thread: string, words: string): void {
  for (const run of runs) {
    expect(run.status, run.runId).toBe("done");
    if (run.status === "done") expect(["natural-end", "cancelled"], run.runId).toContain(run.outcome.termination.type);
  }
  expect(runs.at(-1), thread).toMatchObject({ outcome: { termination: { type: "natural-end" }, response: words } });
}

/** Nothing is left open; what has a result had its effect, and what has none did not. Gives the keys. */
async function expectLedger(store: Store, run: RunId, effects: readonly OutsideEffect[], isTalkative: boolean): Promise<readonly string[]> {
  const entries = await store.ledger.list(run);
  for (const entry of entries) {
    const effect = effects.find(({ key }) => key === entry.idempotencyKey);
    const data = { order: effect?.order, receipt: effect?.receipt };
    // A call that somebody answered for never ran to an end of its own.
    if (entry.status === "suspended") expect([entry.toolName, isTalkative]).toEqual(["ask-somebody", false]);
    else if (effect === undefined) {
      expect(isTalkative, run).toBe(true);
      expect(entry, run).toMatchObject({ status: "finished", result: { type: "error" } });
    } else expect(entry, entry.idempotencyKey).toMatchObject({ status: "finished", result: { type: "success", data } });
  }
  return entries.map(({ idempotencyKey }) => idempotencyKey);
}

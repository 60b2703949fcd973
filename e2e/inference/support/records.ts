import { inspect } from "node:util";
import { type RunId, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { storedMessages } from "./follow.ts";

const MAX_DEPTH = 8;

/** Errors print less than they hold: their hidden properties, stacks and causes are printed too. */
function printError(error: Error, depth = 0): string {
  const own = Object.getOwnPropertyNames(error).map((name) => `${name}=${inspect(Reflect.get(error, name), { depth: 4 })}`);
  const nested = [error.cause, ...(error instanceof AggregateError ? error.errors : [])].filter((inner) => inner instanceof Error);
  const inner = depth < MAX_DEPTH ? nested.map((cause) => printError(cause, depth + 1)) : [];
  return [String(error), error.stack, ...own, ...inner].join("\n");
}

/** A value in all the ways in which it may end up in a file. */
export function print(value: unknown): string {
  const shown = inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxArrayLength: null, maxStringLength: null });
  return [shown, JSON.stringify(value), value instanceof Error ? printError(value) : ""].join("\n");
}

/** Every record that a run of a thread left in a store. */
export async function printRecords(store: Store, thread: string, runId: RunId): Promise<string> {
  const id = threadId(thread);
  const records = await Promise.all([
    store.threads.load(id),
    store.threads.loadState(id),
    store.threads.loadHead(id),
    storedMessages(store, thread),
    store.runs.load(runId),
    store.events.list({ type: "thread", threadId: id }, { limit: 200 }),
    store.events.list({ type: "run", runId }, { limit: 200 }),
    store.ledger.list(runId),
    ...[0, 1, 2].map((step) => store.streamCheckpoints.load(runId, step)),
  ]);
  return records.map(print).join("\n");
}

import type { RunRecord, ThreadId } from "@awaken/contract";
import type { DispatchRecord, LedgerEntry, MessageRecord, QueueStore, WishRecord } from "@awaken/contract/store";
import type { Execution, World } from "./world.ts";

/** All that is on record of a thread, and what the outside saw of it. */
export interface History {
  readonly thread: string;
  readonly rows: readonly MessageRecord[];
  readonly runs: readonly RunRecord[];
  readonly ledger: readonly LedgerEntry[];
  readonly wishes: readonly WishRecord[];
  readonly dispatches: readonly DispatchRecord[];
  readonly pending: number;
  readonly executions: readonly Execution[];
}

async function allRows(store: QueueStore, thread: ThreadId): Promise<readonly MessageRecord[]> {
  const rows: MessageRecord[] = [];
  for (let afterSeq = 0; ; ) {
    const { items, next } = await store.messages.list(thread, { afterSeq, limit: 200, visibility: "all" });
    rows.push(...items);
    if (next === undefined) return rows;
    afterSeq = next;
  }
}

async function allRuns(store: QueueStore, thread: ThreadId): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = [];
  for (let query: Parameters<QueueStore["runs"]["list"]>[0] = { threadId: thread, limit: 100 }; ; ) {
    const { items, next } = await store.runs.list(query);
    runs.push(...items);
    if (next === undefined) return runs;
    query = { ...query, after: next };
  }
}

async function allDispatches(store: QueueStore, thread: ThreadId): Promise<readonly DispatchRecord[]> {
  const rows: DispatchRecord[] = [];
  for (;;) {
    const page = await store.dispatches.list(thread, { offset: rows.length, limit: 100 });
    rows.push(...page);
    if (page.length === 0) return rows;
  }
}

async function historyOf(store: QueueStore, world: World, thread: ThreadId): Promise<History> {
  const runs = await allRuns(store, thread);
  const ledger: LedgerEntry[] = [];
  const wishes: WishRecord[] = [];
  for (const { runId } of runs) {
    ledger.push(...(await store.ledger.list(runId)));
    wishes.push(...(await store.wishes.listOpen(runId)));
  }
  return {
    thread,
    rows: await allRows(store, thread),
    runs,
    ledger,
    wishes,
    dispatches: await allDispatches(store, thread),
    pending: (await store.pending.load(thread)).entries.length,
    executions: world.executions(thread),
  };
}

export async function* histories(store: QueueStore, world: World): AsyncGenerator<History> {
  for (let query: Parameters<QueueStore["threads"]["list"]>[0] = { limit: 100 }; ; ) {
    const { items, next } = await store.threads.list(query);
    for (const { id } of items) yield await historyOf(store, world, id);
    if (next === undefined) return;
    query = { limit: 100, after: next };
  }
}

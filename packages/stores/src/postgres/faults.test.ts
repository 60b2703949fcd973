import { AwakenError, dispatchId, messageId, runId, scopeId, type ThreadId, threadId } from "@awaken/contract";
import type { QueueStore, ScopedQueueStore } from "@awaken/contract/store";
import { expect, test } from "vitest";
import { dispatch, event, runs, user } from "../conformance/records.ts";
import { postgresStore } from "./store.ts";
import { serverUrl } from "./test-server.ts";
import { openTestStore, runSql, schemaOf } from "./test-store.ts";

// Many threads of two processes at once, whose connections are ended at random; an outside ledger says what has to be there.

/** Commits of each thread; more by hand: `AWAKEN_FAULT_STEPS=500`. */
const STEPS = Number(process.env["AWAKEN_FAULT_STEPS"] ?? 12);
const THREADS = 12;

/** What one thread's writer knows: ids of messages in their order, and of those that were refused. */
interface Ledger {
  readonly landed: string[];
  readonly refused: string[];
  unknown: number;
}

async function code(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (thrown) {
    if (AwakenError.is(thrown)) return thrown.code;
    throw thrown;
  }
}

/** Until the store has an answer: reads may be told that their connection is gone. */
async function surely<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (thrown) {
      if (!AwakenError.is(thrown) || thrown.code !== "storage_io") throw thrown;
    }
  }
}

/** Whether a message is there, when what became of its commit is not known: the server may still be at it. */
const isThere = (judge: ScopedQueueStore, id: ThreadId, message: string): Promise<boolean> =>
  surely(async () => {
    // Behind whatever holds the thread.
    await judge.threads.update(id, {}).catch((thrown: unknown) => {
      if (!AwakenError.is(thrown) || thrown.code !== "storage_not_found") throw thrown;
    });
    return (await judge.messages.list(id, {})).items.some((item) => item.message.id === message);
  });

async function write(own: ScopedQueueStore, judge: ScopedQueueStore, id: ThreadId): Promise<Ledger> {
  const ledger: Ledger = { landed: [], refused: [], unknown: 0 };
  const run = runId(`run-${id}`);
  for (let tries = 0; ledger.landed.length < STEPS; tries++) {
    const at = ledger.landed.length;
    const message = `${id}-${at}-${tries}`;
    const outcome = await code(
      own.commit({
        ...{ threadId: id, runId: run, ...(at === 0 && { isNewRun: true, isNewThread: true }) },
        run: runs.running({ threadId: id, runId: run, updatedAt: 2 + at }),
        messageDelta: { messages: [user(message)], expectedMessageCount: at },
        events: [{ draft: { ...event(message).draft, threadId: id, runId: run } }],
      }),
    );
    if (outcome === "commit_unknown") ledger.unknown++;
    const hasLanded = outcome === undefined || (outcome === "commit_unknown" && (await isThere(judge, id, message)));
    if (!hasLanded && outcome !== "commit_unknown") expect(outcome).toBe("storage_io");
    (hasLanded ? ledger.landed : ledger.refused).push(message);
  }
  return ledger;
}

/** Claims and acks one dispatch after the other; gives how often each was certainly acked. */
async function work(own: ScopedQueueStore, judge: ScopedQueueStore, id: ThreadId): Promise<void> {
  for (let at = 0; at < STEPS; at++) {
    const key = dispatchId(`d-${id}-${at}`);
    while ((await surely(() => judge.dispatches.load(key))) === undefined) {
      await code(own.dispatches.enqueue(dispatch(key, { threadId: id, runId: runId(`q-${id}-${at}`) })));
    }
    for (
      let row = await surely(() => judge.dispatches.load(key));
      row?.status !== "acked";
      row = await surely(() => judge.dispatches.load(key))
    ) {
      if (row?.status === "claimed") await code(own.dispatches.ack(row));
      else await code(own.dispatches.claim(id, { consumer: "node", leaseMs: 600_000 }));
    }
  }
}

test("whatever becomes of connections: what was acknowledged is there once, what was refused is not, and unknown is one of both", async () => {
  const judge = await openTestStore();
  const schema = schemaOf(judge);
  const stores: readonly QueueStore[] = await Promise.all(
    [0, 1].map(async () => postgresStore(`${await serverUrl()}?application_name=${schema}`, { schema, connections: 4 })),
  );
  for (const store of stores) await store.stats();
  const scope = scopeId("faults");
  let isOver = false;
  const ending = (async () => {
    const text = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 ORDER BY random() LIMIT 1`;
    while (!isOver) await runSql(text, [schema]);
  })();
  const threads = Array.from({ length: THREADS }, (_, index) => threadId(`t${index}`));
  const of = (index: number) => (stores[index % 2] ?? judge).scoped(scope);
  const [ledgers] = await Promise.all([
    Promise.all(threads.map((id, index) => write(of(index), judge.scoped(scope), id))),
    Promise.all(threads.slice(0, 4).map((id, index) => work(of(index), judge.scoped(scope), threadId(`q-${id}`)))),
  ]);
  isOver = true;
  await ending;
  for (const store of stores) await store.close();
  for (const [index, id] of threads.entries()) {
    const { landed = [], refused = [] } = ledgers[index] ?? {};
    const there = (await judge.scoped(scope).messages.list(id, { limit: 200 })).items.map(({ message }) => message.id);
    expect(there).toEqual(landed.slice(0, 200).map((message) => messageId(message)));
    expect(there.filter((message) => refused.includes(message))).toEqual([]);
    const told = await judge.scoped(scope).events.list({ type: "thread", threadId: id }, { limit: 200 });
    expect(told.items.map(({ kind }) => kind)).toEqual(there);
  }
  await judge.close();
});

import { DEFAULT_SCOPE, messageId, threadId } from "@awaken/contract";
import type { QueueStore, ScopedThread } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import { fakeClock } from "../testing/fake-clock.ts";
import { open } from "./open.test-support.ts";

// How a sweep goes on, and how it stops.

const QUARTER = 15 * 60_000;

const numbered = (count: number): readonly ScopedThread[] =>
  Array.from({ length: count }, (_, n) => ({ scopeId: DEFAULT_SCOPE, threadId: threadId(`t${String(n).padStart(4, "0")}`) }));

/** Messages for which nobody comes. */
async function strand(store: QueueStore, threads: readonly ScopedThread[]): Promise<void> {
  const message = (id: string) => ({ id: messageId(id), role: "user", content: [{ type: "text", text: "is anybody there" }] }) as const;
  for (const { threadId: thread } of threads) await store.pending.append(thread, [{ message: message(`m-${thread}`) }]);
}

/** The store, with what its queue was asked for, and a word when the mailbox does not listen any more: then it is closing. */
function watched(store: QueueStore, queue: Partial<QueueStore["queue"]> = {}) {
  const asked: string[] = [];
  const closing = Promise.withResolvers<void>();
  const noted =
    <Given extends readonly unknown[], T>(name: string, ask: (...given: Given) => T) =>
    (...given: Given): T => {
      asked.push(name);
      return ask(...given);
    };
  const { listUnended, listStranded, listAwaitingTasks } = { ...store.queue, ...queue };
  const watchedStore: QueueStore = {
    ...store,
    sweep: noted("sweep", store.sweep),
    queue: {
      ...store.queue,
      ...queue,
      listUnended: noted("unended", listUnended),
      listStranded: noted("stranded", listStranded),
      listAwaitingTasks: noted("awaiting", listAwaitingTasks),
      hints: (options) => {
        options.signal.addEventListener("abort", () => closing.resolve(), { once: true });
        return store.queue.hints(options);
      },
    },
  };
  return { store: watchedStore, asked, closing: closing.promise };
}

/** Transactions wait here from the moment on at which it is shut. */
function barred(store: QueueStore) {
  const [began, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const seen = { isShut: false, count: 0 };
  const transaction: QueueStore["transaction"] = async (work) => {
    if (!seen.isShut) return store.transaction(work);
    seen.count += 1;
    began.resolve();
    await gate.promise;
    return store.transaction(work);
  };
  return { store: { ...store, transaction }, seen, began: began.promise, open: gate.resolve };
}

describe("a sweep", () => {
  test("looks at all threads, also where one list does not hold them", async () => {
    await using store = memoryStore();
    await strand(store, numbered(250));
    await using runtime = open(store, [], { workers: false });
    await runtime.recover();
    expect((await store.dispatches.countByStatus()).queued).toBe(250);
  });

  test("looks at a thousand threads, the next one goes on behind them, and behind the last one it begins anew", async () => {
    await using store = memoryStore();
    const [threads, after] = [numbered(1_050), [] as (string | undefined)[]];
    const listStranded: QueueStore["queue"]["listStranded"] = async (query) => {
      const last = query.after?.threadId;
      after.push(last);
      return threads.filter((thread) => last === undefined || thread.threadId > last).slice(0, query.limit);
    };
    await using runtime = open({ ...store, queue: { ...store.queue, listStranded } }, [], { workers: false });
    const starts: (string | undefined)[] = [];
    for (let sweep = 0; sweep < 3; sweep++) {
      after.length = 0;
      await runtime.recover();
      starts.push(after[0], after.at(-1));
    }
    expect(starts).toEqual([undefined, "t0899", "t0999", "t0999", undefined, "t0899"]);
  });

  test("that takes longer than until the next one is not begun twice", async () => {
    const clock = fakeClock(1_000);
    await using store = memoryStore({ clock: () => clock.now() });
    const gate = Promise.withResolvers<void>();
    const listUnended: QueueStore["queue"]["listUnended"] = (limit) => gate.promise.then(() => store.queue.listUnended(limit));
    const { store: slow, asked } = watched(store, { listUnended });
    const runtime = open(slow, [], { clock, limits: { storeMs: 1_000 * QUARTER } });
    await clock.advance(4 * QUARTER);
    expect(asked).toEqual(["unended"]);
    gate.resolve();
    await clock.advance(2 * QUARTER);
    expect(asked.filter((name) => name === "unended").length).toBeGreaterThan(1);
    await runtime.close();
  });
});

describe("a runtime that is closed while it sweeps", () => {
  test("mends no other thread, and asks for none", async () => {
    await using store = memoryStore();
    // As many as one list holds: another one would be asked for behind them.
    await strand(store, numbered(100));
    const bar = barred(store);
    bar.seen.isShut = true;
    const { store: watching, asked, closing } = watched(bar.store);
    const runtime = open(watching, []);
    await bar.began;
    const closed = runtime.close();
    await closing;
    bar.open();
    await closed;
    await new Promise(setImmediate);
    expect(bar.seen.count).toBe(1);
    expect(asked).toEqual(["unended", "stranded"]);
  });

  test("deletes nothing any more", async () => {
    const clock = fakeClock(1_000);
    await using store = memoryStore({ clock: () => clock.now() });
    const bar = barred(store);
    const { store: watching, asked, closing } = watched(bar.store);
    const runtime = open(watching, [], { clock, limits: { storeMs: 1_000 * QUARTER } });
    await clock.advance(QUARTER / 2);
    await strand(store, numbered(1));
    bar.seen.isShut = true;
    await clock.advance(QUARTER);
    await bar.began;
    const closed = runtime.close();
    await closing;
    bar.open();
    await closed;
    await new Promise(setImmediate);
    expect(asked).not.toContain("sweep");
  });

  test.each(["by its worker", "when it was told to recover"])("asks for nothing when it has not begun: %s", async (by) => {
    await using store = memoryStore();
    const [looking, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const listConsumers = async () => {
      looking.resolve();
      await gate.promise;
      return store.queue.listConsumers();
    };
    const { store: watching, asked, closing } = watched(store, { listConsumers });
    const runtime = open(watching, []);
    await looking.promise;
    const recovering = by === "by its worker" ? undefined : runtime.recover();
    const closed = runtime.close();
    await closing;
    gate.resolve();
    await Promise.allSettled([closed, recovering]);
    expect(asked).toEqual([]);
  });
});

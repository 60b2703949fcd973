import { AwakenError, runId, type ScopeId, type ThreadId, threadId } from "@awaken/contract";
import type { ScopedQueueStore, ThreadCommit } from "@awaken/contract/store";
import { afterAll, describe, expect, test } from "vitest";
import { dispatch, event, runs, user } from "../conformance/records.ts";
import { postgresStore } from "./store.ts";
import { codeOf } from "./test-pair.ts";
import { startProxy, type Proxy as TestProxy } from "./test-proxy.ts";
import { freshTenant, openTestPeer, openTestStore, runSql, schemaOf, threadIds } from "./test-store.ts";

const store = await openTestStore();
const peer = await openTestPeer(store);
afterAll(async () => {
  await peer.close();
  await store.close();
});

const run = (id: ThreadId) => runId(`run-${id}`);

/** The `at`th commit of the run of a thread: one message, one event, the run. */
const step = (id: ThreadId, at: number, more: Partial<ThreadCommit> = {}): ThreadCommit => ({
  threadId: id,
  runId: run(id),
  ...(at === 0 && { isNewRun: true }),
  run: runs.running({ threadId: id, runId: run(id), updatedAt: 2 + at }),
  messageDelta: { messages: [user(`${id}-m${at}`)], expectedMessageCount: at },
  events: [{ draft: { ...event(`e${at}`).draft, threadId: id, runId: run(id) } }],
  ...more,
});

const CLAIM = { consumer: "node-1", leaseMs: 60_000 } as const;
const held = (id: ThreadId): Partial<ThreadCommit> => ({
  dispatch: { type: "enqueue-claimed", dispatch: dispatch(`d-${id}`, { threadId: id, runId: run(id) }), claim: CLAIM },
});

/** Threads that this process wrote last, so that what comes next is planned from memory. */
const begin = async (own: ScopedQueueStore, threads: readonly ThreadId[]) =>
  Promise.all(threads.map((id) => own.commit({ ...step(id, 0), isNewThread: true })));

const logOf = async (own: ScopedQueueStore, id: ThreadId) => ({
  messages: (await own.messages.list(id, {})).items.map(({ message }) => message.id),
  events: (await own.events.list({ type: "thread", threadId: id }, {})).items.map(({ kind }) => kind),
});
const logUpTo = (id: ThreadId, last: number) => ({
  messages: Array.from({ length: last + 1 }, (_, at) => `${id}-m${at}`),
  events: Array.from({ length: last + 1 }, (_, at) => `e${at}`),
});
const expectLogs = async (own: ScopedQueueStore, threads: readonly ThreadId[], last: number) => {
  for (const id of threads) expect(await logOf(own, id)).toEqual(logUpTo(id, last));
};

/** Transactions that wrote the threads of these tenants last. */
async function transactions(...scopes: readonly ScopeId[]): Promise<number> {
  const text = `SELECT count(DISTINCT xmin::text)::int AS n FROM ${schemaOf(store)}.thread WHERE scope_id = ANY ($1::text[])`;
  return Number((await runSql(text, [scopes]))[0]?.["n"]);
}

describe("commits of several threads that come together", () => {
  test("are there all and once, in one transaction; more than eight in two side by side, more than those hold in as few as do", async () => {
    const scope = freshTenant();
    const own = store.scoped(scope);
    const threads = threadIds(8);
    const results = await begin(own, threads);
    expect(results.map(({ messageCount }) => messageCount)).toEqual(threads.map(() => 1));
    expect(await transactions(scope)).toBe(1);
    await Promise.all(threads.map((id) => own.commit(step(id, 1))));
    expect(await transactions(scope)).toBe(1);
    await expectLogs(own, threads, 1);
    for (const [count, few] of [
      [16, 2],
      [24, 2],
      [40, 3],
    ] as const) {
      const more = freshTenant();
      await begin(store.scoped(more), threadIds(count));
      expect(await transactions(more)).toBe(few);
      await expectLogs(store.scoped(more), threadIds(count), 0);
    }
  });

  test("of two tenants share one too, whatever ids they use", async () => {
    const scopes = [freshTenant(), freshTenant()];
    const threads = threadIds(4);
    await Promise.all(scopes.map((scope) => begin(store.scoped(scope), threads)));
    expect(await transactions(...scopes)).toBe(1);
    for (const scope of scopes) await expectLogs(store.scoped(scope), threads, 0);
  });

  test("are bounded in bytes", async () => {
    const scope = freshTenant();
    const text = "x".repeat(10_000);
    const long = (id: ThreadId) =>
      Array.from({ length: 10 }, (_, at) => ({ ...user(`${id}-m${at}`), content: [{ type: "text" as const, text }] }));
    const commits = threadIds(6).map((id) =>
      step(id, 0, { isNewThread: true, messageDelta: { messages: long(id), expectedMessageCount: 0 } }),
    );
    await Promise.all(commits.map((commit) => store.scoped(scope).commit(commit)));
    expect(await transactions(scope)).toBe(2);
    for (const id of threadIds(6)) expect(await store.scoped(scope).messages.count(id)).toBe(10);
  });

  test("of one thread go one after the other, in the order in which they came, beside those of others", async () => {
    const own = store.scoped(freshTenant());
    const threads = threadIds(3);
    await begin(own, threads);
    const asked = [1, 2, 3, 4, 5].flatMap((at) => threads.map((id) => own.commit(step(id, at))));
    await Promise.all(asked);
    await expectLogs(own, threads, 5);
  });

  test("are there when the store has closed, and none comes behind it", async () => {
    const closing = await openTestPeer(store, { connections: 2 });
    const scope = freshTenant();
    await closing.stats();
    const threads = threadIds(40);
    const landing = begin(closing.scoped(scope), threads);
    const closed = closing.close();
    const late = codeOf(closing.scoped(scope).commit(step(threadId("late"), 0, { isNewThread: true })));
    await landing;
    await closed;
    expect(await late).toBe("storage_io");
    await expectLogs(store.scoped(scope), threads, 0);
  });
});

describe("one of them that is refused", () => {
  /** Eight threads, of which the fifth is spoilt; the outcome of each commit. */
  async function play(spoil: (other: ScopedQueueStore, id: ThreadId) => Promise<unknown>, more: Partial<ThreadCommit> = {}) {
    const scope = freshTenant();
    const [own, other] = [store.scoped(scope), peer.scoped(scope)];
    const threads = threadIds(8);
    const [victim = threadId("none")] = threads.slice(4);
    const begun = await Promise.all(threads.map((id) => own.commit({ ...step(id, 0), ...held(id), isNewThread: true })));
    await spoil(other, victim);
    const outcomes = threads.map((id, index) => {
      const claimed = begun[index]?.dispatch;
      const claimToken = claimed?.status === "claimed" ? claimed.claimToken : "none";
      const fence = { dispatchId: dispatch(`d-${id}`).dispatchId, claimToken };
      return own.commit(step(id, 1, { fence, ...(id === victim && more) }));
    });
    const errors = await Promise.all(outcomes.map((outcome) => outcome.then(() => "landed").catch((thrown: unknown) => thrown)));
    const others = threads.filter((id) => id !== victim);
    await expectLogs(own, others, 1);
    expect(errors.filter((error) => error === "landed")).toHaveLength(7);
    const [error] = errors.slice(4);
    if (!AwakenError.is(error)) throw new Error("the fifth was not refused");
    return { error, log: await logOf(own, victim), own, threads: others };
  }

  test("for a lease that is lost has its own error and writes nothing, and the others are not touched", async () => {
    const { error, log } = await play((other, id) => other.dispatches.interrupt(id));
    expect(error.code).toBe("fence_lost");
    expect(log).toEqual(logUpTo(threadId("t4"), 0));
  });

  test("for a lease that somebody else has now", async () => {
    const { error, log } = await play(async (other, id) => {
      await runSql(`UPDATE ${schemaOf(store)}.dispatch SET lease_until = 0 WHERE thread_id = $1 AND scope_id = $2`, [id, other.scopeId]);
      await peer.queue.reclaimExpired(100);
      await other.dispatches.claim(id, { consumer: "node-2", leaseMs: 60_000 });
    });
    expect(error.code).toBe("fence_lost");
    expect(log).toEqual(logUpTo(threadId("t4"), 0));
  });

  test("for what another writer appended", async () => {
    const { error, log } = await play(async (other, id) => other.events.append([{ draft: { ...event("theirs").draft, threadId: id } }]), {
      messageDelta: { messages: [user("late")], expectedMessageCount: 0 },
    });
    expect(error.code).toBe("message_version_conflict");
    expect(log).toEqual({ messages: ["t4-m0"], events: ["e0", "theirs"] });
  });

  test("says nothing of the others, nor they of it: each goes on as if it had been alone", async () => {
    const { error, own, threads } = await play((other, id) => other.dispatches.interrupt(id));
    expect(JSON.stringify([error.message, error.details])).not.toMatch(/t[0-35-7]\b/);
    await Promise.all(threads.map((id) => own.events.append([{ draft: { ...event("after").draft, threadId: id } }])));
    for (const id of threads) expect((await logOf(own, id)).events).toEqual(["e0", "e1", "after"]);
  });

  test("because its thread is busy waits by itself", async () => {
    const scope = freshTenant();
    const [own, other] = [store.scoped(scope), peer.scoped(scope)];
    const [busy = threadId("none"), ...others] = threadIds(6);
    await begin(own, [busy, ...others]);
    const isHeld = Promise.withResolvers<void>();
    const isOver = Promise.withResolvers<void>();
    const holding = other.transaction(async (ports) => {
      await ports.pending.append(busy, [{ message: user("p1"), deliveryMode: { boundary: "new-run" } }]);
      isHeld.resolve();
      await isOver.promise;
    });
    await isHeld.promise;
    let hasLanded = false;
    const waiting = own.commit(step(busy, 1)).then(() => {
      hasLanded = true;
    });
    await Promise.all(others.map((id) => own.commit(step(id, 1))));
    expect(hasLanded).toBe(false);
    isOver.resolve();
    await Promise.all([holding, waiting]);
    await expectLogs(own, [busy, ...others], 1);
  });

  test("because its thread is busy keeps nobody waiting, however many there are", async () => {
    const scope = freshTenant();
    const [own, other] = [store.scoped(scope), peer.scoped(scope)];
    const [one = threadId("none"), two = threadId("none"), ...others] = threadIds(6);
    await begin(own, [one, two, ...others]);
    const isHeld = Promise.withResolvers<void>();
    const isOver = Promise.withResolvers<void>();
    const holding = other.transaction(async (ports) => {
      for (const id of [one, two]) await ports.pending.append(id, [{ message: user(`p-${id}`), deliveryMode: { boundary: "new-run" } }]);
      isHeld.resolve();
      await isOver.promise;
    });
    await isHeld.promise;
    const locks = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE '%${schemaOf(store)}%'`;
    const waiting: Promise<unknown>[] = [];
    // Each is refused, alone, and then waits for its thread.
    for (const id of [one, two]) {
      waiting.push(own.commit(step(id, 1)));
      await expect.poll(async () => Number((await runSql(locks))[0]?.["n"])).toBe(waiting.length);
    }
    for (const id of others) await own.commit(step(id, 1));
    isOver.resolve();
    await Promise.all([holding, ...waiting]);
    await expectLogs(own, [one, two, ...others], 1);
  });

  test("is not told: a hint comes for what landed alone", async () => {
    const scope = freshTenant();
    const own = store.scoped(scope);
    const threads = threadIds(4);
    await own.dispatches.enqueue(dispatch("taken", { threadId: threadId("elsewhere") }));
    const end = new AbortController();
    const heard: string[] = [];
    const hearing = (async () => {
      for await (const hint of store.queue.hints({ signal: end.signal })) {
        if (hint.scopeId === scope && hint.type === "enqueued") heard.push(hint.threadId);
        if (heard.length === 3) return;
      }
    })();
    const enqueue = (id: ThreadId): ThreadCommit => ({
      ...{ threadId: id, runId: run(id), isNewRun: true, isNewThread: true, run: runs.created({ threadId: id, runId: run(id) }) },
      dispatch: { type: "enqueue", dispatch: dispatch(id === "t2" ? "taken" : `q-${id}`, { threadId: id, runId: run(id) }) },
    });
    const outcomes = await Promise.all(threads.map((id) => codeOf(own.commit(enqueue(id)).then(() => "landed"))));
    expect(outcomes.filter((outcome) => outcome === "landed")).toHaveLength(3);
    await hearing;
    end.abort();
    expect(heard.toSorted()).toEqual(["t0", "t1", "t3"]);
  });
});

describe("a connection that is lost in the middle", () => {
  async function throughProxy<T>(work: (behind: ScopedQueueStore, proxy: TestProxy) => Promise<T>): Promise<T> {
    const proxy = await startProxy();
    const behind = postgresStore(proxy.url, { schema: schemaOf(store), connections: 3 });
    try {
      return await work(behind.scoped(freshTenant()), proxy);
    } finally {
      await behind.close();
      await proxy.close();
    }
  }

  test.each([
    { lost: "the answer", isThere: true },
    { lost: "the commit", isThere: false },
  ])("with $lost leaves each unknown, and none is there twice", ({ isThere }) =>
    throughProxy(async (behind, proxy) => {
      const threads = threadIds(8);
      await begin(behind, threads);
      if (isThere) proxy.loseAnswerToCommit();
      else proxy.loseCommit();
      const outcomes = await Promise.all(threads.map((id) => codeOf(behind.commit(step(id, 1)))));
      expect(outcomes).toEqual(threads.map(() => "commit_unknown"));
      const own = store.scoped(behind.scopeId);
      await expect.poll(async () => (await own.messages.count(threads[0] ?? threadId("none"))) === 2).toBe(isThere);
      await expectLogs(own, threads, isThere ? 1 : 0);
      // Who looks and does again what is not there has it once.
      for (const id of threads) if ((await behind.messages.count(id)) === 1) await behind.commit(step(id, 1));
      await Promise.all(threads.map((id) => behind.commit(step(id, 2))));
      await expectLogs(own, threads, 2);
    }),
  );
});

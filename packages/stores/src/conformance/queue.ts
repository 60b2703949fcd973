import { dispatchId, runId, scopeId, threadId } from "@awaken/contract";
import type { DispatchStatus, QueueStore } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { claimed, fenceOf } from "./dispatches.ts";
import { ACKED, append, awaitingTasks, dispatch, R1, runs, T1, T2, T3, takeNext, takeOne, user, WORKER, write } from "./records.ts";
import { type ConformanceHooks, type QueueTest, take } from "./world.ts";

export function allQueuesConformance(it: QueueTest, { hearsPeers = false }: Pick<ConformanceHooks, "hearsPeers">): void {
  describe("the queue of all tenants", () => {
    due(it);
    crowded(it);
    reclaiming(it);
    unended(it);
    waitingForTasks(it);
    awaitingBehindAnother(it);
    consumers(it);
    lateConsumers(it);
    hints(it, hearsPeers);
  });
}

const OTHER = scopeId("other");

const dueThreads = async ({ queue }: QueueStore, limit?: number) =>
  (await queue.listDue(limit)).map((each) => `${each.scopeId}/${each.threadId}`);

function due(it: QueueTest): void {
  it("lists threads with a dispatch to claim and none claimed, the longest available first", async ({ store, clock }) => {
    await store.dispatches.enqueue(dispatch("later", { threadId: T3, availableAt: clock.now() + 50 }));
    await store.scoped(OTHER).dispatches.enqueue(dispatch("d1", { availableAt: clock.now() - 5 }));
    await store.dispatches.enqueue(dispatch("d2", { threadId: T2 }));
    await store.dispatches.enqueue(dispatch("d3", { threadId: T2, availableAt: clock.now() - 1 }));
    await claimed(store, "held");
    await store.dispatches.enqueue(dispatch("behind"));
    expect(await dueThreads(store)).toEqual(["other/t1", "default/t2"]);
    expect(await dueThreads(store, 1)).toEqual(["other/t1"]);
    clock.advance(50);
    expect(await dueThreads(store)).toEqual(["other/t1", "default/t2", "default/t3"]);
  });

  it("tells when the next dispatch of a free thread becomes available", async ({ store, clock }) => {
    expect(await store.queue.nextDueInMs()).toBeUndefined();
    await store.dispatches.enqueue(dispatch("d1", { availableAt: clock.now() + 70 }));
    await store.scoped(OTHER).dispatches.enqueue(dispatch("d1", { availableAt: clock.now() + 90 }));
    expect(await store.queue.nextDueInMs()).toBe(70);
    clock.advance(30);
    expect(await store.queue.nextDueInMs()).toBe(40);
    await takeOne(store, dispatchId("d1"), WORKER);
    expect(await store.queue.nextDueInMs()).toBe(60);
    clock.advance(100);
    expect(await store.queue.nextDueInMs()).toBe(0);
  });

  it("server-and-durability 29: a nacked dispatch is due again by itself after its delay", async ({ store, clock }) => {
    const row = await claimed(store);
    await store.dispatches.nack(row, { error: "io", delayMs: 250 });
    expect(await dueThreads(store)).toEqual([]);
    expect(await store.queue.nextDueInMs()).toBe(250);
    clock.advance(250);
    expect(await dueThreads(store)).toEqual(["default/t1"]);
  });

  it("lists dispatches that are over, the longest first", async ({ store, clock }) => {
    for (const [index, id] of ["a", "b", "c"].entries()) {
      const own = index === 1 ? store.scoped(OTHER) : store;
      await own.dispatches.enqueue(dispatch(id));
      clock.advance(1);
      await own.dispatches.cancel(dispatchId(id));
    }
    await store.dispatches.enqueue(dispatch("open"));
    const ids = async (query: Parameters<QueueStore["queue"]["listOver"]>[0]) =>
      (await store.queue.listOver(query)).map((each) => each.dispatch.dispatchId);
    expect(await ids({})).toEqual(["a", "b", "c"]);
    expect(await ids({ limit: 2 })).toEqual(["a", "b"]);
    expect(await ids({ updatedSince: clock.now() })).toEqual(["c"]);
    expect((await store.queue.listOver({}))[1]?.scopeId).toBe(OTHER);
  });
}

function unended(it: QueueTest): void {
  it("dead letters whose run nobody has ended are listed", async ({ store }) => {
    for (const id of ["a", "b"]) await store.dispatches.enqueue(dispatch(id, { threadId: threadId(`t-${id}`), runId: runId(`r-${id}`) }));
    const bury = async (id: string) => {
      const row = await takeNext(store, threadId(`t-${id}`), WORKER);
      await store.dispatches.deadLetter(row ?? expect.fail(), "no");
    };
    await store.commit({ ...write(runs.running({ threadId: threadId("t-a"), runId: runId("r-a") })) });
    await bury("a");
    // Of a run that nobody put on record there is nothing to end.
    await bury("b");
    const ids = async () => (await store.queue.listUnended()).map(({ scopeId, dispatch }) => [scopeId, dispatch.dispatchId]);
    expect(await ids()).toEqual([["default", "a"]]);
    await store.commit({ ...write(runs.done({ threadId: threadId("t-a"), runId: runId("r-a"), updatedAt: 9 })) });
    expect(await ids()).toEqual([]);
  });
}

function waitingForTasks(it: QueueTest): void {
  it("threads whose run waits for background tasks are listed, of all tenants, and not those that somebody comes to", async ({ store }) => {
    const awaiting = async (query: Parameters<QueueStore["queue"]["listAwaitingTasks"]>[0] = {}) =>
      (await store.queue.listAwaitingTasks(query)).map((each) => `${each.scopeId}/${each.threadId}`);
    const nul = { principal: { name: "\u0000" } };
    await store.commit(write(runs.waiting({ threadId: T1 })));
    await store.commit(write(awaitingTasks({ threadId: T2, runId: runId("r2"), ...nul })));
    await store.commit(write(awaitingTasks({ threadId: T3, runId: runId("r3") })));
    await store.scoped(OTHER).commit(write(awaitingTasks({ threadId: T1 })));
    expect(await awaiting()).toEqual(["default/t2", "default/t3", "other/t1"]);
    expect(await awaiting({ limit: 1 })).toEqual(["default/t2"]);
    expect(await awaiting({ after: { scopeId: store.scopeId, threadId: T3 } })).toEqual(["other/t1"]);
    await store.dispatches.enqueue(dispatch("d3", { threadId: T3, runId: runId("r3") }));
    expect(await awaiting()).toEqual(["default/t2", "other/t1"]);
    await store.commit(write(runs.done({ threadId: T2, runId: runId("r2"), updatedAt: 9, ...nul })));
    expect(await awaiting()).toEqual(["other/t1"]);
  });
}

function awaitingBehindAnother(it: QueueTest): void {
  it("a thread whose run waits for background tasks is listed though another run of it came since", async ({ store }) => {
    const awaiting = async () => (await store.queue.listAwaitingTasks({})).map((each) => each.threadId);
    await store.commit(write(awaitingTasks()));
    await store.commit(write(runs.running({ runId: runId("r2"), createdAt: 2, updatedAt: 2 })));
    expect((await store.threads.load(T1))?.openRunId).toBe("r2");
    expect(await awaiting()).toEqual([T1]);
    await store.commit(write(awaitingTasks({ runId: runId("r2"), createdAt: 2, updatedAt: 3 })));
    expect(await awaiting()).toEqual([T1]);
    await store.commit(write(runs.done({ updatedAt: 4 })));
    await store.commit(write(runs.done({ runId: runId("r2"), createdAt: 2, updatedAt: 5 })));
    expect(await awaiting()).toEqual([]);
  });
}

function consumers(it: QueueTest): void {
  it("tells who holds claims, and rows of those who are known to be gone are reclaimed before their lease is over", async ({
    store,
    clock,
  }) => {
    expect(await store.queue.listConsumers()).toEqual([]);
    const held = async (id: string, consumer: string) => {
      await store.dispatches.enqueue(dispatch(id, { threadId: threadId(`t-${id}`) }));
      await takeNext(store, threadId(`t-${id}`), { ...WORKER, consumer });
    };
    await held("a1", "alive");
    clock.advance(10);
    await held("g1", "gone");
    await held("g2", "gone");
    expect(await store.queue.listConsumers()).toEqual([
      { name: "alive", leaseEndsInMs: WORKER.leaseMs - 10 },
      { name: "gone", leaseEndsInMs: WORKER.leaseMs },
    ]);
    const reclaimed = await store.queue.reclaimExpired(undefined, ["gone", "unknown"]);
    expect(reclaimed.map((each) => each.dispatch.dispatchId).sort()).toEqual(["g1", "g2"]);
    for (const { dispatch: row } of reclaimed) expect(row).toMatchObject({ status: "queued", attemptCount: 1, availableAt: clock.now() });
    expect(await store.queue.listConsumers()).toEqual([{ name: "alive", leaseEndsInMs: WORKER.leaseMs - 10 }]);
    clock.advance(WORKER.leaseMs);
    expect(await store.queue.listConsumers()).toEqual([{ name: "alive", leaseEndsInMs: 0 }]);
  });
}

function lateConsumers(it: QueueTest): void {
  it("tells of those whose leases are over too by which ended first", async ({ store, clock }) => {
    const leases = [
      ["a", 30],
      ["b", 10],
      ["c", 20],
    ] as const;
    for (const [name, leaseMs] of leases) {
      await store.dispatches.enqueue(dispatch(name, { threadId: threadId(`t-${name}`) }));
      await takeNext(store, threadId(`t-${name}`), { consumer: name, leaseMs });
    }
    clock.advance(40);
    expect(await store.queue.listConsumers()).toEqual(["b", "c", "a"].map((name) => ({ name, leaseEndsInMs: 0 })));
  });
}

function crowded(it: QueueTest): void {
  it("lists a thread once, however much of it waits before the others", async ({ store, clock }) => {
    for (let nth = 0; nth < 12; nth++) {
      await store.dispatches.enqueue(dispatch(`many${nth}`, { availableAt: clock.now() - 100 + nth }));
    }
    await store.dispatches.enqueue(dispatch("d3", { threadId: T3, availableAt: clock.now() - 1 }));
    await store.dispatches.enqueue(dispatch("d2", { threadId: T2, availableAt: clock.now() - 2 }));
    expect(await dueThreads(store, 2)).toEqual(["default/t1", "default/t2"]);
    expect(await dueThreads(store, 3)).toEqual(["default/t1", "default/t2", "default/t3"]);
    expect(await dueThreads(store, 4)).toEqual(["default/t1", "default/t2", "default/t3"]);
  });
}

function reclaiming(it: QueueTest): void {
  const statusOf = async (store: QueueStore, id: string): Promise<DispatchStatus | undefined> =>
    (await store.dispatches.load(dispatchId(id)))?.status;

  it("server-and-durability 25: a lease that ends now is not expired, one that ended before is", async ({ store, clock }) => {
    await claimed(store);
    clock.advance(WORKER.leaseMs);
    expect(await store.queue.reclaimExpired()).toEqual([]);
    expect(await statusOf(store, "d1")).toBe("claimed");
    clock.advance(1);
    const [reclaimed] = await store.queue.reclaimExpired();
    expect(reclaimed).toMatchObject({
      scopeId: "default",
      dispatch: { dispatchId: "d1", status: "queued", attemptCount: 1, availableAt: clock.now() },
    });
    expect(await store.dispatches.load(dispatchId("d1"))).toEqual(reclaimed?.dispatch);
    expect(await store.queue.reclaimExpired()).toEqual([]);
  });

  it("server-and-durability 8: a dispatch dead-lettered by lease expiry does not report a run status", async ({ store, clock }) => {
    const row = await claimed(store, "d1", { maxAttempts: 1 });
    await store.dispatches.recordStart(row, "instance-1");
    clock.advance(WORKER.leaseMs + 1);
    const [dead] = await store.queue.reclaimExpired();
    expect(dead?.dispatch).toMatchObject({ status: "dead-letter", attemptCount: 1, completedAt: clock.now() });
    expect(Object.keys(dead?.dispatch ?? {})).not.toContain("echo");
    expect(await store.dispatches.load(row.dispatchId)).toEqual(dead?.dispatch);
  });

  it("an extended lease is not expired", async ({ store, clock }) => {
    const row = await claimed(store);
    clock.advance(WORKER.leaseMs - 1);
    expect(await store.dispatches.extendLease(row, WORKER.leaseMs)).toEqual({ hasWishes: false });
    clock.advance(WORKER.leaseMs);
    expect(await store.queue.reclaimExpired()).toEqual([]);
  });

  it("an expired row of an older epoch is superseded and not returned", async ({ store, clock }) => {
    await claimed(store);
    await store.dispatches.interrupt(T1);
    clock.advance(WORKER.leaseMs + 1);
    expect(await store.queue.reclaimExpired()).toEqual([]);
    expect(await statusOf(store, "d1")).toBe("superseded");
  });

  it("two callers at once never get the same row, and each row is dead-lettered once", async ({ store, peer, clock }) => {
    for (let index = 0; index < 6; index++) await claimed(store, `d${index}`, { threadId: threadId(`t${index}`), maxAttempts: 1 });
    clock.advance(WORKER.leaseMs + 1);
    const found = (await Promise.all([store, peer, store, peer].map((node) => node.queue.reclaimExpired()))).flat();
    expect(found.map((each) => each.dispatch.dispatchId).sort()).toEqual(["d0", "d1", "d2", "d3", "d4", "d5"]);
    for (const { dispatch: row } of found) expect(row).toMatchObject({ status: "dead-letter", attemptCount: 1 });
  });
}

/** Listens at one store while another one, or the same, has something to tell. */
async function hear(listener: QueueStore, teller: QueueStore): Promise<void> {
  const listening = new AbortController();
  const heard = take(listener.queue.hints({ signal: listening.signal }), 4);
  // Listening may need a moment on engines that ask their server for it.
  await new Promise((resolve) => setTimeout(resolve, 50));
  await teller.dispatches.enqueue(dispatch("d1"));
  await teller.scoped(OTHER).dispatches.hint({ type: "cancel", threadId: T2, runId: R1 });
  const enqueue = { type: "enqueue", dispatch: dispatch("d2", { threadId: T3 }) } as const;
  await teller.commit(append(0, [user("m1")], { threadId: T3, dispatch: enqueue }));
  await teller.dispatches.hint({ type: "wake", threadId: T1, runId: R1 });
  expect(await heard).toEqual([
    { type: "enqueued", scopeId: "default", threadId: T1 },
    { type: "cancel", scopeId: "other", threadId: T2, runId: R1 },
    { type: "enqueued", scopeId: "default", threadId: T3 },
    { type: "wake", scopeId: "default", threadId: T1, runId: R1 },
  ]);
  listening.abort();
}

function hints(it: QueueTest, hearsPeers: boolean): void {
  it("work that is enqueued and hints for runs reach whoever listens", async ({ store }) => hear(store, store));

  if (hearsPeers) it("hints of another process reach whoever listens", async ({ store, peer }) => hear(store, peer));

  it("whoever listens hears of a thread that is free again while more waits on it", async ({ store }) => {
    const row = await claimed(store);
    await store.dispatches.enqueue(dispatch("next"));
    const listening = new AbortController();
    const heard = take(store.queue.hints({ signal: listening.signal }), 1);
    await store.commit({ ...write(runs.done()), fence: fenceOf(row), dispatch: { type: "ack", result: ACKED } });
    expect(await heard).toEqual([{ type: "enqueued", scopeId: "default", threadId: T1 }]);
    listening.abort();
  });

  it("listening ends with its signal", async ({ store }) => {
    const listening = new AbortController();
    const heard = take(store.queue.hints({ signal: listening.signal }), 1);
    listening.abort();
    expect(await heard).toEqual([]);
    expect(await take(store.queue.hints({ signal: AbortSignal.abort() }), 1)).toEqual([]);
  });
}

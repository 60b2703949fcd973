import { dispatchId, scopeId } from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { DEFAULT_RETENTION, hasQueue, profileOwner, type Store } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { claimed } from "./dispatches.ts";
import { append, checkpoint, claim, dispatch, event, R1, R2, runs, T1, T2, user, write } from "./records.ts";
import { failure, type QueueTest, type StoreTest } from "./world.ts";

export function lifecycleConformance(it: StoreTest): void {
  describe("the whole store", () => {
    sweeping(it);
    counting(it);
    closing(it);
  });
}

function sweeping(it: StoreTest): void {
  it("stream checkpoints and ledger rows of finished runs go when their time is over", async ({ store, clock }) => {
    const claims = (run: typeof R1, call: string) => ({ claims: [claim(call, { idempotencyKey: `${run}-${call}` })], outcomes: [] });
    await store.commit(write(runs.running(), { ledger: claims(R1, "c1") }));
    await store.commit(write(runs.running({ runId: R2, threadId: T2 }), { ledger: claims(R2, "c1") }));
    await store.commit(write(runs.done({ updatedAt: 2 })));
    await store.streamCheckpoints.put(checkpoint({ updatedAt: clock.now() }));
    clock.advance(1_000);
    await store.streamCheckpoints.put(checkpoint({ step: 1, updatedAt: clock.now() }));
    const swept = await store.sweep({ streamCheckpointsMs: 999, ledgerMs: 999 });
    expect(swept).toEqual({ events: 0, dispatches: 0, streamCheckpoints: 1, ledger: 1, wishes: 0, outbound: 0 });
    expect(await store.streamCheckpoints.load(R1, 0)).toBeUndefined();
    expect(await store.streamCheckpoints.load(R1, 1)).toBeDefined();
    expect(await store.ledger.list(R1)).toEqual([]);
    expect(await store.ledger.list(R2)).toHaveLength(1);
  });

  it("sweeps all tenants, and what is left out stays", async ({ store, clock }) => {
    for (const name of ["a", "b"]) {
      const tenant = store.scoped(scopeId(name));
      await tenant.commit(append(0, [user("m1")], { run: runs.done(), events: [event("e")] }));
      if (hasQueue(tenant)) {
        await tenant.dispatches.enqueue(dispatch("d1"));
        await tenant.dispatches.cancel(dispatchId("d1"));
      }
    }
    const dispatches = hasQueue(store) ? 2 : 0;
    clock.advance(10 * 24 * 3_600_000);
    expect(await store.sweep(DEFAULT_RETENTION)).toEqual({
      events: 0,
      dispatches,
      streamCheckpoints: 0,
      ledger: 0,
      wishes: 0,
      outbound: 0,
    });
    expect(await store.sweep({ eventsMs: 0 })).toMatchObject({ events: 2 });
    expect(await store.stats()).toMatchObject({ threads: 2, messages: 2, runs: { done: 2 }, events: 0 });
  });
}

function counting(it: StoreTest): void {
  it("stats count the rows of all tenants", async ({ store }) => {
    for (const tenant of [store, store.scoped(scopeId("other"))]) {
      await tenant.commit(
        append(0, [user("m1"), user("m2")], { run: runs.running(), ledger: { claims: [claim("c1")], outcomes: [] }, events: [event("e")] }),
      );
      await tenant.commit(write(runs.done({ runId: R2, updatedAt: 2 })));
      if (hasQueue(tenant)) {
        await tenant.pending.append(T1, [{ message: user("p1") }]);
        await tenant.dispatches.enqueue(dispatch("d1"));
      }
      await tenant.streamCheckpoints.put(checkpoint());
      await tenant.profiles.put(profileOwner("a"), "k", 1);
      await tenant.config.put({ namespace: "agents", id: "a", record: userRecord({}) });
    }
    const stats = await store.stats();
    const queued = { pending: 2, dispatches: { queued: 2, claimed: 0, acked: 0, cancelled: 0, superseded: 0, "dead-letter": 0 } };
    expect(stats).toEqual({
      threads: 2,
      messages: 4,
      runs: { created: 0, running: 2, waiting: 0, done: 2 },
      events: 2,
      streamCheckpoints: 2,
      ledger: 2,
      wishes: 0,
      profiles: 2,
      config: 2,
      bytes: stats.bytes,
      ...(hasQueue(store) && queued),
    });
    expect(stats.bytes).toBeGreaterThan(0);
  });
}

function closing(it: StoreTest): void {
  const calls = (store: Store): readonly (() => Promise<unknown>)[] => [
    () => store.commit(append(0, [user("m1")])),
    () => store.threads.load(T1),
    () => store.messages.count(T1),
    () => store.runs.load(R1),
    () => store.events.append([event("e")]),
    () => store.events.subscribe({ type: "thread", threadId: T1 }, { type: "now" }, { signal: AbortSignal.timeout(1_000) }),
    () => store.streamCheckpoints.load(R1, 0),
    () => store.ledger.list(R1),
    () => store.wishes.listOpen(R1),
    () => store.profiles.list(profileOwner("a")),
    () => store.config.list("agents"),
    () => store.transaction(async () => 1),
    () => store.scoped(scopeId("other")).threads.load(T1),
    () => store.sweep({}),
    () => store.stats(),
  ];

  it("every call after close is storage_io, and closing again is fine", async ({ store }) => {
    await store.close();
    for (const call of calls(store)) await failure(call(), "storage_io");
    await store.close();
    await store[Symbol.asyncDispose]();
  });

  it("close waits for what is under way", async ({ store }) => {
    const commit = store.commit(append(0, [user("m1")]));
    const work = store.transaction(async (ports) => {
      await commit;
      return ports.commit(append(1, [user("m2")]));
    });
    const closing = store.close();
    expect(await commit).toMatchObject({ messageCount: 1 });
    expect(await work).toMatchObject({ messageCount: 2 });
    await closing;
    await failure(store.messages.count(T1), "storage_io");
  });

  it("subscribers do not outlive the store", async ({ store }) => {
    const signal = AbortSignal.timeout(20_000);
    const events = await store.events.subscribe({ type: "thread", threadId: T1 }, { type: "now" }, { signal });
    const waiting = [events, store.config.watch({ signal })].map((source) => source[Symbol.asyncIterator]().next());
    const ends = waiting.map((next: Promise<IteratorResult<unknown>>) =>
      next.then(
        ({ done }) => done === true,
        () => true,
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
    await store.close();
    expect(await Promise.all(ends)).toEqual([true, true]);
  });
}

export function queueLifecycleConformance(it: QueueTest): void {
  it("server-and-durability 49: a sweep deletes dispatches that are over and past their time, and never a queued or claimed one", async ({
    store,
    clock,
  }) => {
    await store.dispatches.enqueue(dispatch("queued", { threadId: T2 }));
    await claimed(store, "held");
    await store.dispatches.enqueue(dispatch("old", { dedupeKey: "k" }));
    await store.dispatches.cancel(dispatchId("old"));
    clock.advance(1_000);
    await store.dispatches.enqueue(dispatch("young"));
    await store.dispatches.cancel(dispatchId("young"));
    clock.advance(1_000);
    expect(await store.sweep({ dispatchesMs: 2_000 })).toMatchObject({ dispatches: 0 });
    expect(await store.sweep({ dispatchesMs: 1_000 })).toEqual({
      events: 0,
      dispatches: 1,
      streamCheckpoints: 0,
      ledger: 0,
      wishes: 0,
      outbound: 0,
    });
    expect(await store.dispatches.load(dispatchId("old"))).toBeUndefined();
    clock.advance(1_000_000);
    expect(await store.sweep({ dispatchesMs: 1_000 })).toMatchObject({ dispatches: 1 });
    expect(await store.dispatches.countByStatus()).toMatchObject({ queued: 1, claimed: 1, cancelled: 0 });
    expect((await store.dispatches.list(T1, {})).map((each) => each.dispatchId)).toEqual(["held"]);
    await store.dispatches.enqueue(dispatch("old"));
  });

  it("every call of the queue after close is storage_io, and a listener does not outlive the store", async ({ store }) => {
    const next = store.queue
      .hints({ signal: AbortSignal.timeout(20_000) })
      [Symbol.asyncIterator]()
      .next();
    const end = next.then(
      ({ done }) => done === true,
      () => true,
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
    await store.close();
    expect(await end).toBe(true);
    const calls = [() => store.pending.load(T1), () => store.dispatches.enqueue(dispatch("d1")), () => store.queue.listDue()];
    for (const call of calls) await failure(call(), "storage_io");
  });
}

import { type ThreadId, threadId } from "@awaken/contract";
import type { EventAppend, Outbound, Store, ThreadCommit } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, dispatch, draft, event, R1, R2, runs, T1, T2, T3, takeNext, user, write } from "./records.ts";
import { failure, type QueueTest, type StoreTest } from "./world.ts";

const eventFor = (id: ThreadId, kind: string): EventAppend => ({ draft: { ...draft(kind), threadId: id, runId: R2 } });

const eventsOf = async (store: Store, id: ThreadId): Promise<readonly string[]> =>
  (await store.events.list({ type: "thread", threadId: id }, {})).items.map((each) => each.kind);

const post = (count: number, outbound: readonly Outbound[], more: Partial<ThreadCommit> = {}): ThreadCommit =>
  append(count, [user(`m${count}`)], { outbound, ...more });

function forOneRun(it: StoreTest): void {
  it("what is for a run is delivered while that is on record, and not to another thread by the same id", async ({ store }) => {
    const toParent = (id: string): Outbound => ({ id, threadId: T2, forRun: R2, events: [eventFor(T2, id)] });
    await store.commit(post(0, [toParent("too early")]));
    await store.commit(write(runs.done({ runId: R2, threadId: T2 })));
    await store.commit(post(1, [toParent("told")]));
    expect(await eventsOf(store, T2)).toEqual(["told"]);
    await store.threads.delete(T2, "detach");
    await store.commit({ ...append(0, [user("again")]), threadId: T2 });
    await store.commit(post(2, [toParent("too late")]));
    expect(await eventsOf(store, T2)).toEqual([]);
  });
}

/** Events alone, which a store without a queue delivers too. */
export function outboundConformance(it: StoreTest): void {
  describe("what a commit puts on other threads", () => {
    forOneRun(it);

    it("events stand in the logs of their threads, once for each id, beside those of the commit itself", async ({ store }) => {
      const outbound = [
        { id: "o1", threadId: T2, events: [eventFor(T2, "told"), eventFor(T2, "told more")] },
        { id: "o2", threadId: T2, events: [eventFor(T2, "told again")] },
        { id: "o3", threadId: T3, events: [{ draft: { ...draft("of our run"), threadId: T3 } }] },
      ];
      const given = await store.commit(post(0, outbound, { events: [event("own")] }));
      expect(given.events.map((each) => each.kind)).toEqual(["own"]);
      await store.commit(post(1, outbound, { events: [event("own later")] }));
      expect(await eventsOf(store, T1)).toEqual(["own", "own later"]);
      expect(await eventsOf(store, T2)).toEqual(["told", "told more", "told again"]);
      const ofRun = (await store.events.list({ type: "run", runId: R1 }, {})).items.map((each) => each.kind);
      expect(ofRun).toEqual(["own", "of our run", "own later"]);
      expect(await store.threads.load(T2)).toBeUndefined();
    });

    it("goes with the commit or not at all", async ({ store }) => {
      const outbound = [{ id: "o1", threadId: T2, events: [eventFor(T2, "told")] }];
      await failure(store.commit(post(7, outbound)), "message_version_conflict");
      expect(await eventsOf(store, T2)).toEqual([]);
      await store.commit(post(0, outbound));
      expect(await eventsOf(store, T2)).toEqual(["told"]);
    });

    it("ids are there and once; the thread is another one, and the one of its parts", async ({ store }) => {
      const bad: readonly (readonly Outbound[])[] = [
        [{ id: " ", threadId: T2 }],
        [{ id: "o1", threadId: T1 }],
        [
          { id: "o1", threadId: T2 },
          { id: "o1", threadId: T3 },
        ],
        [{ id: "o1", threadId: T2, events: [eventFor(T3, "told")] }],
      ];
      for (const outbound of bad) await failure(store.commit(post(0, outbound)), "storage_validation");
      expect(await store.messages.count(T1)).toBe(0);
    });

    it("ids are kept for their time, in each tenant its own", async ({ store, clock }) => {
      const outbound = [{ id: "o1", threadId: T2, events: [eventFor(T2, "told")] }];
      await store.commit(post(0, outbound));
      const tenant = store.scoped("other" as typeof store.scopeId);
      await tenant.commit(post(0, outbound));
      expect((await tenant.events.list({ type: "thread", threadId: T2 }, {})).items).toHaveLength(1);
      clock.advance(1_000);
      expect(await store.sweep({ outboundMs: 1_000 })).toMatchObject({ outbound: 0 });
      expect(await store.sweep({ outboundMs: 999 })).toMatchObject({ outbound: 2 });
      await store.commit(post(1, outbound));
      expect(await eventsOf(store, T2)).toEqual(["told", "told"]);
    });
  });
}

export function queueOutboundConformance(it: QueueTest): void {
  describe("messages and work for other threads", () => {
    delivering(it);
    repeatedIds(it);
    racing(it);
  });
}

function delivering(it: QueueTest): void {
  const toChild: Outbound = {
    id: "o1",
    threadId: T2,
    pending: [{ message: user("p1"), deliveryMode: { targetRunId: R2 } }, { message: user("p2") }],
    dispatch: dispatch("d1", { threadId: T2, runId: R2, dedupeKey: "wake" }),
    events: [eventFor(T2, "told")],
  };

  it("server-and-durability 62: what a commit puts on other threads is there once, also when the commit is repeated", async ({ store }) => {
    await store.pending.append(T2, [{ message: user("p0") }]);
    for (const count of [0, 1]) await store.commit(post(count, [toChild]));
    const { entries } = await store.pending.load(T2);
    expect(entries.map(({ pendingId, position }) => `${position} ${pendingId}`)).toEqual(["1 p0", "2 p1", "3 p2"]);
    expect(await store.dispatches.list(T2, {})).toMatchObject([{ dispatchId: "d1", status: "queued", epoch: 0 }]);
    expect(await store.queue.listDue()).toEqual([{ scopeId: "default", threadId: T2 }]);
    expect(await eventsOf(store, T2)).toEqual(["told"]);
  });

  it("server-and-durability 62: a dispatch made so whose lease expires is redelivered, and the late ack of the first worker fails", async ({
    store,
    clock,
  }) => {
    await store.commit(post(0, [toChild]));
    const first = (await takeNext(store, T2, { consumer: "a", leaseMs: 10 })) ?? expect.fail();
    clock.advance(11);
    await store.queue.reclaimExpired();
    const second = (await takeNext(store, T2, { consumer: "b", leaseMs: 10 })) ?? expect.fail();
    await failure(store.dispatches.ack(first), "fence_lost");
    await store.dispatches.ack(second);
  });

  it("what is there already under its own id is left out, and nothing fails for it", async ({ store }) => {
    await store.commit({ ...append(0, [user("p1")]), threadId: T2, runId: R2 });
    await store.pending.append(T2, [{ message: user("p2") }]);
    await store.dispatches.enqueue(dispatch("d0", { threadId: T2, dedupeKey: "wake" }));
    const again: Outbound = { id: "o2", threadId: T2, pending: [{ message: user("p3") }, { message: user("p3") }] };
    await store.commit(post(0, [toChild, again]));
    expect((await store.pending.load(T2)).entries.map(({ pendingId }) => pendingId)).toEqual(["p2", "p3"]);
    expect((await store.dispatches.list(T2, {})).map(({ dispatchId }) => dispatchId)).toEqual(["d0"]);
  });

  it("a dispatch is of the thread that it is for", async ({ store }) => {
    await failure(store.commit(post(0, [{ id: "o1", threadId: T2, dispatch: dispatch("d1") }])), "storage_validation");
    expect(await store.dispatches.list(T1, {})).toEqual([]);
  });
}

function repeatedIds(it: QueueTest): void {
  it("a dispatch whose id the commit itself makes known is left out: its own, or one that it named before", async ({ store }) => {
    const to = (id: typeof T2, name: string): Outbound => ({
      id: `${id}-${name}`,
      threadId: id,
      dispatch: dispatch(name, { threadId: id }),
    });
    const own = [
      { type: "enqueue", dispatch: dispatch("d1") },
      { type: "enqueue-claimed", dispatch: dispatch("d2"), claim: { consumer: "a", leaseMs: 10 } },
    ] as const;
    const ids = async (id: typeof T2) => (await store.dispatches.list(id, {})).map((row) => [row.dispatchId, row.threadId]);
    for (const [index, change] of own.entries()) {
      const name = change.dispatch.dispatchId;
      const commit = post(index, [to(T2, name), to(T3, `x${index}`), to(T2, `x${index}`)], { dispatch: change });
      expect((await store.commit(commit)).dispatch).toMatchObject({ dispatchId: name, threadId: T1 });
    }
    expect(await Promise.all([T1, T2, T3].map(ids))).toEqual([["d1", "d2"].map((id) => [id, T1]), [], ["x0", "x1"].map((id) => [id, T3])]);
  });
}

function racing(it: QueueTest): void {
  it("threads that write to each other at once do not lock each other out, and each message comes once", async ({ store, peer }) => {
    const ids = Array.from({ length: 4 }, (_, index) => threadId(`ring${index}`));
    const send = async (from: number, round: number) => {
      const others = ids.filter((_, index) => index !== from);
      const outbound = others.map((id) => ({
        id: `${round}-${from}-${id}`,
        threadId: id,
        pending: [{ message: user(`${round}-${from}`) }],
      }));
      const node = (from + round) % 2 === 0 ? store : peer;
      const run = runs.running({ runId: R1, threadId: ids[from] ?? T1 });
      await node.commit({ ...append(round, [user(`m${round}`)], { outbound }), threadId: run.threadId });
    };
    for (let round = 0; round < 5; round++) await Promise.all(ids.map((_, from) => send(from, round)));
    for (const [own, id] of ids.entries()) {
      const got = (await store.pending.load(id)).entries.map(({ pendingId }) => pendingId).sort();
      const sent = ids.flatMap((_, from) => (from === own ? [] : [0, 1, 2, 3, 4].map((round) => `${round}-${from}`))).sort();
      expect(got).toEqual(sent);
    }
  });

  it("two commits with one id deliver it once, whichever comes first", async ({ store, peer }) => {
    const outbound = [{ id: "once", threadId: T3, pending: [{ message: user("p1") }], events: [eventFor(T3, "told")] }];
    await Promise.all([
      store.commit(write(runs.running(), { outbound })),
      peer.commit(write(runs.running({ runId: R2, threadId: T2 }), { outbound })),
    ]);
    expect((await store.pending.load(T3)).entries).toHaveLength(1);
    expect(await eventsOf(store, T3)).toEqual(["told"]);
  });
}

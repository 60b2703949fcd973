import { type DispatchId, dispatchId, runId } from "@awaken/contract";
import type { ClaimedDispatch, DispatchRecord, Fence, NewDispatch, QueueStore } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { ACKED, dispatch, R1, T1, T2, takeNext, takeOne, WORKER } from "./records.ts";
import { failure, type QueueTest, type QueueWorld } from "./world.ts";

export function dispatchConformance(it: QueueTest): void {
  describe("dispatches", () => {
    enqueueing(it);
    claiming(it);
    fences(it);
    settling(it);
    interrupts(it);
    races(it);
    ringing(it);
  });
}

export const fenceOf = ({ dispatchId: id, claimToken }: ClaimedDispatch): Fence => ({ dispatchId: id, claimToken });
const idOf = (id: string): DispatchId => dispatchId(id);

/** Enqueues a dispatch and claims it. */
export async function claimed(store: QueueStore, id = "d1", fields: Partial<NewDispatch> = {}): Promise<ClaimedDispatch> {
  await store.dispatches.enqueue(dispatch(id, fields));
  return (await takeNext(store, fields.threadId ?? T1, WORKER)) ?? expect.fail("nothing to claim");
}

/** For a store that has the live port. */
function ringing(it: QueueTest): void {
  it("that are over wake whoever follows their run, which nobody may ever begin", async ({ store, peer }) => {
    if (store.live === undefined) return;
    const ways: Readonly<Record<string, (node: QueueStore, id: string) => Promise<unknown>>> = {
      acked: async (node) => node.dispatches.ack(fenceOf((await takeNext(node, T1, WORKER)) ?? expect.fail())),
      buried: async (node) => node.dispatches.deadLetter(fenceOf((await takeNext(node, T1, WORKER)) ?? expect.fail()), "e"),
      cancelled: (node, id) => node.dispatches.cancel(idOf(id)),
      interrupted: (node) => node.dispatches.interrupt(T1),
      committed: async (node, id) => {
        const fence = fenceOf((await takeNext(node, T1, WORKER)) ?? expect.fail());
        await node.commit({ threadId: T1, runId: runId(id), fence, dispatch: { type: "dead-letter", error: "e" } });
      },
    };
    for (const [name, settle] of Object.entries(ways)) {
      for (const [index, node] of [store, peer].entries()) {
        const id = `${name}-${index}`;
        await store.dispatches.enqueue(dispatch(id, { runId: runId(id) }));
        const rung = Promise.withResolvers<void>();
        const leave = store.live.follow({ type: "run", runId: runId(id) }, rung.resolve);
        await settle(node, id);
        await rung.promise;
        leave();
      }
    }
  });
}

function enqueueing(it: QueueTest): void {
  it("are queued with defaults, the epoch of the thread and the time of the store", async ({ store, clock }) => {
    const queued = await store.dispatches.enqueue(dispatch("d1"));
    expect(queued).toEqual({
      schemaVersion: 1,
      ...{ dispatchId: "d1", threadId: T1, runId: R1, status: "queued", priority: 128, epoch: 0, attemptCount: 0, maxAttempts: 5 },
      ...{ availableAt: clock.now(), createdAt: clock.now(), updatedAt: clock.now() },
    });
    expect(await store.dispatches.load(idOf("d1"))).toEqual(queued);
    expect(await store.dispatches.load(idOf("d2"))).toBeUndefined();
    await failure(store.dispatches.enqueue(dispatch("d1", { threadId: T2 })), "storage_already_exists");
    for (const fields of [{ priority: 256 }, { priority: -1 }, { maxAttempts: 0 }, { dedupeKey: " " }]) {
      await failure(store.dispatches.enqueue(dispatch("d2", fields)), "storage_validation");
    }
    expect(await store.dispatches.list(T1, {})).toEqual([queued]);
  });

  it("server-and-durability 7: a queued dispatch with a claim token cannot be stored", async ({ store }) => {
    const hostile: NewDispatch = JSON.parse(JSON.stringify({ ...dispatch("d1"), claimToken: "tok" }));
    await failure(store.dispatches.enqueue(hostile), "storage_validation");
    expect(await store.dispatches.list(T1, {})).toEqual([]);
  });

  it("server-and-durability 37: a duplicate dedupe key is refused while open and accepted after a terminal state", async ({ store }) => {
    const enqueue = (id: string) => store.dispatches.enqueue(dispatch(id, { dedupeKey: "k" }));
    await enqueue("d1");
    await failure(enqueue("d2"), "storage_already_exists");
    await store.dispatches.enqueue(dispatch("other", { dedupeKey: "k", threadId: T2 }));
    const held = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    await failure(enqueue("d2"), "storage_already_exists");
    await store.dispatches.ack(fenceOf(held));
    await enqueue("d2");
    await store.dispatches.cancel(idOf("d2"));
    await enqueue("d3");
    expect(await store.dispatches.load(idOf("d3"))).toMatchObject({ status: "queued", dedupeKey: "k" });
  });

  it("are listed by priority, then age; filters and pages apply", async ({ store, clock }) => {
    for (const [id, priority] of Object.entries({ b: 5, a: 5, low: 200, first: 0 })) {
      await store.dispatches.enqueue(dispatch(id, { priority }));
      clock.advance(1);
    }
    await store.dispatches.enqueue(dispatch("z", { threadId: T2 }));
    await store.dispatches.cancel(idOf("low"));
    const ids = async (query: Parameters<QueueStore["dispatches"]["list"]>[1]) =>
      (await store.dispatches.list(T1, query)).map((each) => each.dispatchId);
    expect(await ids({})).toEqual(["first", "b", "a", "low"]);
    expect(await ids({ statuses: ["queued"] })).toEqual(["first", "b", "a"]);
    expect(await ids({ statuses: ["cancelled", "acked"] })).toEqual(["low"]);
    expect(await ids({ offset: 1, limit: 2 })).toEqual(["b", "a"]);
    expect(await store.dispatches.countByStatus()).toEqual({
      ...{ queued: 4, claimed: 0, acked: 0, cancelled: 1, superseded: 0, "dead-letter": 0 },
    });
  });
}

function claiming(it: QueueTest): void {
  it("server-and-durability 21: lower priority number first, then the older one", async ({ store, clock }) => {
    for (const [id, priority] of Object.entries({ d1: 200, d2: 5, d3: 5, d4: 0 })) {
      await store.dispatches.enqueue(dispatch(id, { priority }));
      clock.advance(1);
    }
    const order: string[] = [];
    for (let row = await takeNext(store, T1, WORKER); row !== undefined; row = await takeNext(store, T1, WORKER)) {
      order.push(row.dispatchId);
      await store.dispatches.ack(fenceOf(row));
    }
    expect(order).toEqual(["d4", "d2", "d3", "d1"]);
  });

  it("server-and-durability 22: while one dispatch is claimed, no other dispatch of that thread is, from any node", async ({
    store,
    peer,
  }) => {
    const first = await claimed(store);
    expect(first).toMatchObject({ status: "claimed", claimedBy: "node-1" });
    await store.dispatches.enqueue(dispatch("d2"));
    for (const node of [store, peer]) {
      expect(await takeNext(node, T1, WORKER)).toBeUndefined();
      expect(await takeOne(node, idOf("d2"), WORKER)).toBeUndefined();
      expect(await takeOne(node, idOf("d1"), WORKER)).toBeUndefined();
    }
    await store.dispatches.enqueue(dispatch("e1", { threadId: T2 }));
    expect(await takeNext(peer, T2, WORKER)).toBeDefined();
    await store.dispatches.ack(fenceOf(first));
    expect(await takeNext(peer, T1, WORKER)).toMatchObject({ dispatchId: "d2" });
  });

  it("server-and-durability 23: claimDispatch takes a row whose time has not come; claim does not", async ({ store, clock }) => {
    await store.dispatches.enqueue(dispatch("d1", { availableAt: clock.now() + 10 }));
    expect(await takeNext(store, T1, WORKER)).toBeUndefined();
    const row = await takeOne(store, idOf("d1"), WORKER);
    expect(row).toMatchObject({ status: "claimed", leaseUntil: clock.now() + WORKER.leaseMs });
    expect(await takeOne(store, idOf("nothing"), WORKER)).toBeUndefined();

    await store.dispatches.enqueue(dispatch("d2", { threadId: T2, availableAt: clock.now() + 10 }));
    clock.advance(10);
    expect(await takeNext(store, T2, WORKER)).toMatchObject({ dispatchId: "d2" });
  });

  it("each claim has a token of its own, and a blank consumer is refused", async ({ store }) => {
    const first = await claimed(store);
    await store.dispatches.release(fenceOf(first));
    const second = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    expect(second.claimToken).not.toBe(first.claimToken);
    await store.dispatches.release(fenceOf(second));
    await failure(takeNext(store, T1, { ...WORKER, consumer: " " }), "storage_validation");
    expect(await store.dispatches.load(idOf("d1"))).toMatchObject({ status: "queued" });
  });
}

function fences(it: QueueTest): void {
  /** Every method that takes a fence and throws. */
  const moves = ({ dispatches }: QueueStore, fence: Fence): readonly (() => Promise<unknown>)[] => [
    () => dispatches.ack(fence),
    () => dispatches.nack(fence, { error: "e", delayMs: 1 }),
    () => dispatches.deadLetter(fence, "e"),
    () => dispatches.release(fence),
    () => dispatches.recordStart(fence, "i"),
    () => dispatches.recordResult(fence, ACKED),
  ];

  it("server-and-durability 24: with a wrong token ack, nack, dead-letter and result all fail and the row stays claimed", async ({
    store,
  }) => {
    const row = await claimed(store);
    for (const fence of [
      { ...fenceOf(row), claimToken: "wrong" },
      { dispatchId: idOf("unknown"), claimToken: row.claimToken },
    ]) {
      for (const move of moves(store, fence)) await failure(move(), "fence_lost");
      expect(await store.dispatches.extendLease(fence, 1)).toBeUndefined();
      expect(await store.dispatches.supersedeClaimed(fence, "x")).toBeUndefined();
    }
    expect(await store.dispatches.load(row.dispatchId)).toEqual(row);
  });

  it("server-and-durability 27: lease renewal after an interrupt returns false and the row becomes superseded", async ({ store }) => {
    const row = await claimed(store);
    expect(await store.dispatches.extendLease(fenceOf(row), 60_000)).toEqual({ hasWishes: false });
    await store.dispatches.interrupt(T1);
    expect(await store.dispatches.load(row.dispatchId)).toMatchObject({ status: "claimed" });
    expect(await store.dispatches.extendLease(fenceOf(row), 60_000)).toBeUndefined();
    expect(await store.dispatches.load(row.dispatchId)).toMatchObject({ status: "superseded" });
  });

  it("after an interrupt every move of the old owner fails and supersedes the row", async ({ store }) => {
    const count = moves(store, { dispatchId: idOf("x"), claimToken: "x" }).length;
    for (let index = 0; index < count; index++) {
      const row = await claimed(store, `d${index}`);
      await store.dispatches.interrupt(T1);
      await failure(moves(store, fenceOf(row))[index]?.() ?? expect.fail(), "fence_lost");
      const after = await store.dispatches.load(row.dispatchId);
      expect(after).toMatchObject({ status: "superseded" });
      expect(Object.keys(after ?? {})).not.toContain("claimToken");
    }
  });

  it("a dispatch that is over has no owner any more", async ({ store }) => {
    const row = await claimed(store);
    await store.dispatches.ack(fenceOf(row));
    const acked = await store.dispatches.load(row.dispatchId);
    for (const move of moves(store, fenceOf(row))) await failure(move(), "fence_lost");
    expect(await store.dispatches.load(row.dispatchId)).toEqual(acked);
  });
}

function settling(it: QueueTest): void {
  it("what the worker says about the run is kept with the row", async ({ store, clock }) => {
    const row = await claimed(store);
    await store.dispatches.recordStart(fenceOf(row), "instance-1");
    expect(await store.dispatches.load(row.dispatchId)).toMatchObject({
      status: "claimed",
      echo: { type: "started", instanceId: "instance-1" },
    });
    clock.advance(5);
    await store.dispatches.recordResult(fenceOf(row), ACKED);
    await store.dispatches.ack(fenceOf(row));
    expect(await store.dispatches.load(row.dispatchId)).toEqual({
      ...withoutLease(row),
      ...{ status: "acked", completedAt: clock.now(), updatedAt: clock.now() },
      echo: { type: "result", instanceId: "instance-1", result: ACKED },
    });
  });

  it("a nacked dispatch cannot be claimed before its time; the last try is a dead letter", async ({ store, clock }) => {
    await store.dispatches.enqueue(dispatch("d1", { maxAttempts: 2 }));
    const first = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    expect(await store.dispatches.nack(fenceOf(first), { error: "io", delayMs: 250 })).toMatchObject({
      ...{ status: "queued", attemptCount: 1, lastError: "io", availableAt: clock.now() + 250 },
    });
    clock.advance(249);
    expect(await takeNext(store, T1, WORKER)).toBeUndefined();
    clock.advance(1);
    const second = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    expect(await store.dispatches.nack(fenceOf(second), { error: "io again", delayMs: 250 })).toMatchObject({
      ...{ status: "dead-letter", attemptCount: 2, completedAt: clock.now() },
    });
    clock.advance(1_000);
    expect(await takeNext(store, T1, WORKER)).toBeUndefined();
  });

  it("a released dispatch is free at once and has used up no try; with a delay it is free after that; a dead letter is over", async ({
    store,
    clock,
  }) => {
    const first = await claimed(store);
    expect(await store.dispatches.release(fenceOf(first))).toMatchObject({ status: "queued", attemptCount: 0 });
    const second = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    expect(await store.dispatches.release(fenceOf(second), 500)).toMatchObject({ attemptCount: 0, availableAt: clock.now() + 500 });
    expect(await takeNext(store, T1, WORKER)).toBeUndefined();
    clock.advance(500);
    const third = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    expect(await store.dispatches.deadLetter(fenceOf(third), "401")).toMatchObject({ status: "dead-letter", lastError: "401" });
  });

  it("cancel takes a queued dispatch only", async ({ store, clock }) => {
    const row = await claimed(store);
    expect(await store.dispatches.cancel(row.dispatchId)).toBeUndefined();
    await store.dispatches.enqueue(dispatch("d2"));
    expect(await store.dispatches.cancel(idOf("d2"))).toMatchObject({ status: "cancelled", completedAt: clock.now() });
    expect(await store.dispatches.cancel(idOf("d2"))).toBeUndefined();
    expect(await store.dispatches.cancel(idOf("unknown"))).toBeUndefined();
    expect(await store.dispatches.load(row.dispatchId)).toEqual(row);
  });
}

function withoutLease({ claimToken: _token, claimedBy: _by, leaseUntil: _until, ...row }: ClaimedDispatch): Omit<DispatchRecord, "status"> {
  return row;
}

function interrupts(it: QueueTest): void {
  it("server-and-durability 20: enqueue stamps the epoch after an interrupt, and the new dispatch is claimable", async ({ store }) => {
    await store.dispatches.enqueue(dispatch("old"));
    expect(await store.dispatches.interrupt(T1)).toMatchObject({ epoch: 1, superseded: [{ dispatchId: "old", status: "superseded" }] });
    expect(await store.dispatches.enqueue(dispatch("new"))).toMatchObject({ epoch: 1 });
    expect(await takeNext(store, T1, WORKER)).toMatchObject({ dispatchId: "new", epoch: 1 });
    expect(await store.dispatches.load(idOf("old"))).toMatchObject({ status: "superseded" });
  });

  it("an interrupt raises the epoch, supersedes what is queued and names what is claimed", async ({ store, clock }) => {
    const row = await claimed(store);
    for (const id of ["d2", "d3"]) {
      clock.advance(1);
      await store.dispatches.enqueue(dispatch(id));
    }
    await store.dispatches.enqueue(dispatch("elsewhere", { threadId: T2 }));
    const interruption = await store.dispatches.interrupt(T1);
    expect(interruption).toMatchObject({ epoch: 1, claimed: row });
    expect(interruption.superseded.map((each) => each.dispatchId)).toEqual(["d2", "d3"]);
    expect(await store.dispatches.load(idOf("d2"))).toEqual(interruption.superseded[0]);
    expect(await store.dispatches.interrupt(T1)).toEqual({ epoch: 2, claimed: row, superseded: [] });
    expect(await store.dispatches.load(idOf("elsewhere"))).toMatchObject({ status: "queued" });
    expect(await store.dispatches.interrupt(T2)).toMatchObject({ epoch: 1 });
  });

  it("a claimed dispatch may be superseded by its owner", async ({ store }) => {
    const row = await claimed(store);
    await store.dispatches.recordStart(fenceOf(row), "i");
    const superseded = await store.dispatches.supersedeClaimed(fenceOf(row), "replaced");
    expect(superseded).toMatchObject({ status: "superseded", lastError: "replaced" });
    expect(Object.keys(superseded ?? {})).not.toContain("echo");
    expect(await store.dispatches.supersedeClaimed(fenceOf(row), "again")).toBeUndefined();
  });
}

function races(it: QueueTest): void {
  const winners = async (claims: readonly Promise<ClaimedDispatch | undefined>[]) =>
    (await Promise.all(claims)).filter((row) => row !== undefined);
  const nodes = ({ store, peer }: QueueWorld) => Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? store : peer));

  it("of concurrent claims of one dispatch exactly one wins", async (world) => {
    await world.store.dispatches.enqueue(dispatch("d1"));
    expect(await winners(nodes(world).map((node) => takeOne(node, idOf("d1"), WORKER)))).toHaveLength(1);
  });

  it("of concurrent claims of two dispatches on one thread exactly one wins", async (world) => {
    for (const id of ["d1", "d2"]) await world.store.dispatches.enqueue(dispatch(id));
    const claims = nodes(world).flatMap((node) => [takeNext(node, T1, WORKER), takeOne(node, idOf("d2"), WORKER)]);
    expect(await winners(claims)).toHaveLength(1);
    expect(await world.store.dispatches.countByStatus()).toMatchObject({ queued: 1, claimed: 1 });
  });

  it("of concurrent enqueues with one dedupe key exactly one wins", async (world) => {
    const enqueues = nodes(world).map((node, index) => node.dispatches.enqueue(dispatch(`d${index}`, { dedupeKey: "k" })));
    const outcomes = await Promise.allSettled(enqueues);
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "storage_already_exists" });
    }
  });
}

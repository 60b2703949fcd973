import { type DispatchId, dispatchId, scopeId } from "@awaken/contract";
import type { DispatchRecord, DispatchStatus, NewDispatch, QueueStore, ScopedQueueStore } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { fenceOf } from "./dispatches.ts";
import { dispatch, T1, T2, T3, takeNext, takeOne, WORKER } from "./records.ts";
import { failure, type QueueTest } from "./world.ts";

export function deadLetterConformance(it: QueueTest): void {
  describe("dispatches of a tenant", () => {
    listing(it);
    removing(it);
  });
}

const DEAD: readonly DispatchStatus[] = ["dead-letter"];
const idOf = (id: string): DispatchId => dispatchId(id);
const idsOf = (rows: readonly DispatchRecord[]) => rows.map((row) => row.dispatchId);

/** Enqueues a dispatch and buries it. */
async function bury(store: ScopedQueueStore, id: string, fields: Partial<NewDispatch> = {}): Promise<void> {
  await store.dispatches.enqueue(dispatch(id, fields));
  const row = (await takeOne(store, idOf(id), WORKER)) ?? expect.fail("nothing to claim");
  await store.dispatches.deadLetter(fenceOf(row), `why ${id}`);
}

function listing(it: QueueTest): void {
  it("are listed over all threads by age, in pages, of the statuses that are asked for", async ({ store, clock }) => {
    for (const [index, id] of ["d3", "d1", "d2", "d0"].entries()) {
      await bury(store, id, { threadId: index % 2 === 0 ? T1 : T2 });
      // Two of one moment stand by id.
      if (index !== 1) clock.advance(1);
    }
    await store.dispatches.enqueue(dispatch("queued", { threadId: T3 }));
    await store.dispatches.enqueue(dispatch("held"));
    const held = await takeNext(store, T1, WORKER);

    const all = await store.dispatches.listAll({ statuses: DEAD });
    expect(idsOf(all.items)).toEqual(["d3", "d1", "d2", "d0"]);
    expect(all.next).toBeUndefined();
    expect(all.items[0]).toEqual(await store.dispatches.load(idOf("d3")));
    expect(all.items[0]).toMatchObject({ status: "dead-letter", lastError: "why d3", attemptCount: 1 });

    const first = await store.dispatches.listAll({ statuses: DEAD, limit: 2 });
    expect(idsOf(first.items)).toEqual(["d3", "d1"]);
    const second = await store.dispatches.listAll({ statuses: DEAD, limit: 2, after: first.next ?? expect.fail("there is more") });
    expect(idsOf(second.items)).toEqual(["d2", "d0"]);
    expect(second.next).toBeUndefined();

    expect(idsOf((await store.dispatches.listAll({ statuses: ["queued", "claimed"] })).items)).toEqual(["held", "queued"]);
    expect((await store.dispatches.listAll({ statuses: ["claimed"] })).items).toEqual([held]);
    expect((await store.dispatches.listAll({ statuses: [] })).items).toEqual([]);
  });

  it("a tenant sees and removes its own dead letters alone", async ({ store }) => {
    const [a, b] = [store.scoped(scopeId("a")), store.scoped(scopeId("b"))];
    await bury(a, "d1");
    await bury(a, "d2");
    await bury(b, "d2");
    expect(idsOf((await b.dispatches.listAll({ statuses: DEAD })).items)).toEqual(["d2"]);
    expect((await store.dispatches.listAll({ statuses: DEAD })).items).toEqual([]);
    expect(await b.dispatches.removeDeadLetter(idOf("d1"))).toBeUndefined();
    expect(await b.dispatches.removeDeadLetter(idOf("d2"))).toMatchObject({ dispatchId: "d2" });
    expect(idsOf((await a.dispatches.listAll({ statuses: DEAD })).items)).toEqual(["d1", "d2"]);
    expect((await b.dispatches.listAll({ statuses: DEAD })).items).toEqual([]);
  });
}

function removing(it: QueueTest): void {
  it("a dead letter is removed once, and nothing else is", async ({ store }) => {
    await bury(store, "d1");
    const dead = await store.dispatches.load(idOf("d1"));
    await store.dispatches.enqueue(dispatch("open"));
    expect(await store.dispatches.removeDeadLetter(idOf("open"))).toBeUndefined();
    expect(await store.dispatches.removeDeadLetter(idOf("unknown"))).toBeUndefined();
    expect(await store.dispatches.removeDeadLetter(idOf("d1"))).toEqual(dead);
    expect(await store.dispatches.removeDeadLetter(idOf("d1"))).toBeUndefined();
    expect(await store.dispatches.load(idOf("d1"))).toBeUndefined();
    expect(idsOf(await store.dispatches.list(T1, {}))).toEqual(["open"]);
    expect(await store.dispatches.countByStatus()).toMatchObject({ "dead-letter": 0, queued: 1 });
  });

  const replay = (store: QueueStore) =>
    store.transaction(async ({ dispatches }) => {
      const dead = await dispatches.removeDeadLetter(idOf("d1"));
      return dead && dispatches.enqueue(dispatch("d1", { maxAttempts: dead.maxAttempts }));
    });

  it("one that is enqueued again under its id is claimable, with fresh attempts and the epoch of the thread", async ({ store, clock }) => {
    await bury(store, "d1", { maxAttempts: 2 });
    await store.dispatches.interrupt(T1);
    clock.advance(5);
    expect(await replay(store)).toMatchObject({ status: "queued", attemptCount: 0, maxAttempts: 2, epoch: 1, availableAt: clock.now() });
    expect(await replay(store)).toBeUndefined();
    expect(await store.queue.listDue()).toEqual([{ scopeId: "default", threadId: T1 }]);
    const row = (await takeNext(store, T1, WORKER)) ?? expect.fail("nothing to claim");
    expect(row).toMatchObject({ dispatchId: "d1", attemptCount: 0, epoch: 1 });
    await store.dispatches.ack(fenceOf(row));
    expect(await store.dispatches.countByStatus()).toMatchObject({ "dead-letter": 0, acked: 1 });
  });

  it("what is rolled back leaves the dead letter", async ({ store }) => {
    await bury(store, "d1");
    await store.dispatches.enqueue(dispatch("d2"));
    await failure(
      store.transaction(async ({ dispatches }) => {
        await dispatches.removeDeadLetter(idOf("d1"));
        await dispatches.enqueue(dispatch("d2"));
      }),
      "storage_already_exists",
    );
    expect(idsOf((await store.dispatches.listAll({ statuses: DEAD })).items)).toEqual(["d1"]);
    expect(idsOf(await store.dispatches.list(T1, {}))).toEqual(["d1", "d2"]);
  });

  it("of several who replay it at once one does", async ({ store, peer }) => {
    await bury(store, "d1");
    const outcomes = await Promise.allSettled([store, peer, store, peer].map(replay));
    const won = outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value !== undefined);
    expect(won).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "version_conflict" });
    }
    expect(await store.dispatches.countByStatus()).toMatchObject({ queued: 1, "dead-letter": 0 });
  });
}

import { AwakenError } from "@awaken/contract";
import type { Claim, ClaimedRecords, Fence, QueueStore, ThreadCommit } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { ACKED, append, dispatch, event, R1, R2, runs, state, T1, T2, user, WORKER, write } from "./records.ts";
import { type ConformanceHooks, failure, type QueueTest, type QueueWorld, type StoreTest } from "./world.ts";

/** What a claim gives, and what becomes of it until the first commit. */
export function claimConformance(it: QueueTest): void {
  describe("claims", () => {
    answers(it);
    firstCommits(it);
    lostClaims(it);
    editedClaims(it);
  });
}

function editedClaims(it: QueueTest): void {
  it("stay what they are when a caller changes what he was given", async ({ store }) => {
    await store.dispatches.enqueue(dispatch("d1"));
    const claim = await claimOf(store);
    const fence = fenceOf(claim);
    // A record that cannot be changed is as good.
    Reflect.set(claim.dispatch, "claimToken", "another");
    Reflect.set(claim.dispatch, "priority", 7);
    await store.commit(append(0, [user("m1")], { run: runs.running(), fence }));
    await store.commit(append(1, [user("m2")], { fence, dispatch: { type: "ack", result: ACKED } }));
    expect(await store.dispatches.load(fence.dispatchId)).toMatchObject({ status: "acked", priority: 128 });
  });
}

const claimOf = async (store: QueueStore): Promise<Claim> => (await store.dispatches.claim(T1, WORKER)) ?? expect.fail("nothing to claim");

function recordsOf({ records }: Claim): ClaimedRecords {
  if (AwakenError.is(records)) throw records;
  return records;
}

const fenceOf = ({ dispatch: { dispatchId, claimToken } }: Claim): Fence => ({ dispatchId, claimToken });

/** The same, asked for one by one. */
async function asked(store: QueueStore): Promise<ClaimedRecords> {
  return {
    run: await store.runs.load(R1),
    head: await store.threads.loadHead(T1),
    pending: (await store.pending.load(T1)).entries,
    wishes: await store.wishes.listOpen(R1),
    queued: (await store.dispatches.list(T1, { statuses: ["queued"] })).flatMap((row) => (row.status === "queued" ? [row] : [])),
  };
}

function answers(it: QueueTest): void {
  it("give the run, its thread, messages and wishes that wait, and what else is queued, as whoever asks is told", async (world) => {
    const { store, peer } = world;
    const events = [event("said"), event("done")];
    await store.commit(append(0, [user("m1"), user("m2")], { run: runs.running(), threadState: state(1, { key: 1 }), events }));
    await store.pending.append(T1, [{ message: user("p1") }, { message: user("p2") }]);
    await store.wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "x1" });
    await store.dispatches.enqueue(dispatch("d1"));
    await store.dispatches.enqueue(dispatch("last", { runId: R2, priority: 200 }));
    await store.dispatches.enqueue(dispatch("second", { runId: R2 }));
    // One who has never read the thread, and one who knows it.
    for (const node of [peer, store]) {
      const claim = await claimOf(node);
      expect(claim.dispatch).toEqual(await store.dispatches.load(dispatch("d1").dispatchId));
      const records = recordsOf(claim);
      expect(records).toEqual(await asked(store));
      expect(records.head?.messages.map(({ message }) => message.id)).toEqual(["m1", "m2"]);
      expect([records.pending.length, records.wishes.length]).toEqual([2, 1]);
      expect(records.queued.map(({ dispatchId }) => dispatchId)).toEqual(["second", "last"]);
      await node.dispatches.release(fenceOf(claim));
    }
    const named = (await peer.dispatches.claimDispatch(dispatch("d1").dispatchId, WORKER)) ?? expect.fail();
    expect(recordsOf(named)).toEqual(await asked(store));
  });

  it("give a run that its thread does not name", async ({ store, peer }) => {
    for (const [id, name, at] of [
      [R1, "d1", 1],
      [R2, "d2", 2],
    ] as const) {
      const run = runs.created({ runId: id, createdAt: at, updatedAt: at });
      await peer.commit(write(run, { isNewRun: true, dispatch: { type: "enqueue", dispatch: dispatch(name, { runId: id }) } }));
    }
    const claim = (await store.dispatches.claimDispatch(dispatch("d2").dispatchId, WORKER)) ?? expect.fail();
    const { run, head, queued } = recordsOf(claim);
    expect(run).toEqual(await peer.runs.load(R2));
    expect(run).toMatchObject({ runId: R2, status: "created" });
    expect([head?.latestRun?.runId, head?.openRun?.runId]).not.toContain(R2);
    expect(queued.map(({ dispatchId }) => dispatchId)).toEqual(["d1"]);
  });

  it("of a thread that nobody has written give that there is nothing", async ({ store }) => {
    await store.dispatches.enqueue(dispatch("d1"));
    const claim = await claimOf(store);
    expect(recordsOf(claim)).toEqual({ run: undefined, head: undefined, pending: [], wishes: [], queued: [] });
  });
}

/** A run that was put down for later with two messages, and the commit that it begins with. */
async function putDown({ store, peer }: QueueWorld) {
  const target = { boundary: "new-run", targetRunId: R1, fallbackToNewRun: false } as const;
  await peer.commit(
    write(runs.created(), {
      isNewRun: true,
      pending: { append: [user("p1"), user("p2")].map((message) => ({ message, deliveryMode: target })) },
      dispatch: { type: "enqueue", dispatch: dispatch("d1") },
    }),
  );
  const claim = await claimOf(store);
  const entries = recordsOf(claim).pending.map(({ pendingId, revision }) => ({ pendingId, revision }));
  const first: ThreadCommit = append(0, [user("p1"), user("p2")], {
    run: runs.running({ updatedAt: 2 }),
    events: [event("began")],
    fence: fenceOf(claim),
    pending: { consume: { boundary: "new-run", entries } },
  });
  return { claim, first, target };
}

function firstCommits(it: QueueTest): void {
  it("a first commit takes the messages of the claim and leaves the others; the last one settles the dispatch", async (world) => {
    const { store, peer } = world;
    const { claim, first } = await putDown(world);
    expect(await store.commit(first)).toMatchObject({ messageCount: 2, hasWishes: false, hasPending: false });
    expect((await peer.pending.load(T1)).entries).toEqual([]);
    const last = append(2, [user("m3")], {
      ...{ run: runs.done({ updatedAt: 3 }), events: [event("ended")], fence: fenceOf(claim) },
      dispatch: { type: "ack", result: ACKED },
    });
    await store.commit(last);
    expect(await peer.runs.load(R1)).toMatchObject({ status: "done" });
    expect(await peer.dispatches.load(dispatch("d1").dispatchId)).toMatchObject({ status: "acked" });
    expect((await peer.events.list({ type: "run", runId: R1 }, {})).items.map(({ kind }) => kind)).toEqual(["began", "ended"]);
  });

  it("a message that was edited, retracted, moved or added since the claim makes it look again", async (world) => {
    const { store, peer } = world;
    const { first, target } = await putDown(world);
    const [p1, p2] = [user("p1").id, user("p2").id];
    const changes = [
      () => peer.pending.update(T1, p1, { revision: 1, deliveryMode: { barrier: false } }),
      () => peer.pending.append(T1, [{ message: user("p3"), deliveryMode: target }]),
      async () => peer.pending.reorder(T1, [p2, p1, user("p3").id], (await peer.pending.load(T1)).revision),
      async () => peer.pending.retract(T1, p2, 1),
    ];
    for (const change of changes) {
      await change();
      await failure(store.commit(first), "pending_selection_conflict");
    }
    expect(await store.messages.count(T1)).toBe(0);
    const { entries } = await store.pending.load(T1);
    const consume = { boundary: "new-run", entries: entries.map(({ pendingId, revision }) => ({ pendingId, revision })) } as const;
    await store.commit({ ...first, messageDelta: { messages: [user("p1"), user("p3")], expectedMessageCount: 0 }, pending: { consume } });
    expect((await peer.pending.load(T1)).entries).toEqual([]);
  });

  it("a wish, a message for another run and a dispatch that came since the claim are found by it", async (world) => {
    const { store, peer } = world;
    const { first, target } = await putDown(world);
    await peer.pending.append(T1, [{ message: user("later"), deliveryMode: { ...target, targetRunId: R2 } }]);
    await peer.wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "x1" });
    await peer.dispatches.enqueue(dispatch("d2", { runId: R2 }));
    expect(await store.commit(first)).toMatchObject({ messageCount: 2, hasWishes: true, hasPending: true });
    expect((await peer.pending.load(T1)).entries.map(({ pendingId }) => pendingId)).toEqual(["later"]);
  });
}

function lostClaims(it: QueueTest): void {
  it("after an interrupt, a takeover or the deletion of the thread a first commit is refused", async (world) => {
    const { store, peer, clock } = world;
    const { first } = await putDown(world);
    clock.advance(WORKER.leaseMs + 1);
    await peer.queue.reclaimExpired();
    await failure(store.commit(first), "fence_lost");
    const claim = await claimOf(peer);
    await failure(store.commit(first), "fence_lost");
    const second = { ...first, fence: fenceOf(claim) };
    await store.dispatches.interrupt(T1);
    await failure(peer.commit(second), "fence_lost");
    await store.threads.delete(T1, "reject");
    await failure(peer.commit(second), "fence_lost");
    expect(await store.threads.load(T1)).toBeUndefined();
  });
}

export function claimCorruptionConformance<S extends QueueStore>(it: StoreTest<S>, { corrupt }: ConformanceHooks<S>): void {
  if (corrupt === undefined) return;
  it("a claim whose records cannot be read says so, and whoever made it settles it", async ({ store }) => {
    await store.commit(append(0, [user("m1")], { run: runs.running() }));
    await store.dispatches.enqueue(dispatch("d1"));
    await corrupt(store, { type: "run", runId: R1 }, { status: "nothing" });
    const claim = await claimOf(store);
    expect(claim.records).toMatchObject({ code: "storage_corrupt" });
    await store.dispatches.deadLetter(fenceOf(claim), "its run cannot be read");
    expect(await store.dispatches.load(dispatch("d1").dispatchId)).toMatchObject({ status: "dead-letter" });
  });

  it("a claim that cannot be read stops neither those who look who holds claims nor those who take them back", async ({ store, clock }) => {
    await store.dispatches.enqueue(dispatch("d1"));
    await store.dispatches.enqueue(dispatch("d2", { threadId: T2, runId: R2 }));
    await claimOf(store);
    await store.dispatches.claim(T2, { ...WORKER, consumer: "other" });
    await corrupt(store, { type: "dispatch", dispatchId: dispatch("d1").dispatchId }, { surprise: true });
    expect((await store.queue.listConsumers()).map(({ name }) => name)).toEqual(["other"]);
    clock.advance(WORKER.leaseMs + 1);
    expect((await store.queue.reclaimExpired()).map(({ dispatch: { dispatchId } }) => dispatchId)).toEqual(["d2"]);
    expect(await store.queue.listDue()).toMatchObject([{ threadId: T2 }]);
  });
}

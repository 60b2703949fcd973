import type { ThreadCommit } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { ACKED, append, dispatch, R1, R2, R3, runs, T1, T2, takeNext, user, WORKER, write } from "./records.ts";
import { failure, type QueueTest, type QueueWorld } from "./world.ts";

export function queueCommitConformance(it: QueueTest): void {
  describe("the commit and the queue", () => {
    fencing(it);
    newThreads(it);
    leaving(it);
    activation(it);
  });
}

function fencing(it: QueueTest): void {
  const claimed = async ({ store }: QueueWorld) => {
    await store.dispatches.enqueue(dispatch("d1"));
    const row = (await takeNext(store, T1, WORKER)) ?? expect.fail("nothing to claim");
    return { dispatchId: row.dispatchId, claimToken: row.claimToken };
  };

  it("server-and-durability 14: a commit with a stolen claim token is refused even if the message count matches", async (world) => {
    const { store } = world;
    const fence = await claimed(world);
    await store.commit(append(0, [user("m1")], { run: runs.running(), fence }));
    for (const hostile of [
      { ...fence, claimToken: "stolen" },
      { ...fence, dispatchId: dispatch("d9").dispatchId },
    ]) {
      await failure(store.commit(append(1, [user("m2")], { run: runs.running({ updatedAt: 2 }), fence: hostile })), "fence_lost");
    }
    expect(await store.messages.count(T1)).toBe(1);
    await failure(store.commit({ ...append(0, [user("m1")]), threadId: T2, fence }), "fence_lost");
    await failure(store.commit({ ...append(1, [user("m2")]), runId: R2, fence }), "fence_lost");
    expect(await store.threads.load(T2)).toBeUndefined();
  });

  it("server-and-durability 26: the old owner's ack after a reclaim fails, and its later commit is fenced", async (world) => {
    const { store, clock } = world;
    const old = await claimed(world);
    clock.advance(WORKER.leaseMs + 1);
    await store.queue.reclaimExpired();
    const next = (await takeNext(store, T1, { ...WORKER, consumer: "node-2" })) ?? expect.fail();
    await failure(store.dispatches.ack(old), "fence_lost");
    await failure(store.commit(append(0, [user("m1")], { fence: old })), "fence_lost");
    await store.commit(append(0, [user("m1")], { fence: { dispatchId: next.dispatchId, claimToken: next.claimToken } }));
    expect(await store.messages.count(T1)).toBe(1);
  });

  it("an interrupt voids the fence, and a settled dispatch has none", async (world) => {
    const { store } = world;
    const fence = await claimed(world);
    await store.dispatches.interrupt(T1);
    await failure(store.commit(append(0, [user("m1")], { fence })), "fence_lost");
    expect(await store.threads.load(T1)).toBeUndefined();
  });

  it("a commit acks or dead-letters the dispatch of its fence", async (world) => {
    const { store, clock } = world;
    const fence = await claimed(world);
    const done = await store.commit(write(runs.done(), { fence, dispatch: { type: "ack", result: ACKED } }));
    expect(done.dispatch).toMatchObject({ status: "acked", completedAt: clock.now(), echo: { type: "result", result: ACKED } });
    expect(await store.dispatches.load(fence.dispatchId)).toEqual(done.dispatch);
    await failure(store.commit({ threadId: T1, runId: R1, fence }), "fence_lost");

    await store.dispatches.enqueue(dispatch("d2"));
    const row = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    const dead = await store.commit({
      ...{ threadId: T1, runId: R1, fence: { dispatchId: row.dispatchId, claimToken: row.claimToken } },
      dispatch: { type: "dead-letter", error: "401" },
    });
    expect(dead.dispatch).toMatchObject({ status: "dead-letter", lastError: "401", attemptCount: 1 });
  });
}

function newThreads(it: QueueTest): void {
  it("a thread that is said to be new is made, and one that is there in spite of it is the thread", async ({ store, peer }) => {
    const put = (id: typeof R1, name: string) =>
      write(runs.created({ runId: id, threadId: T1 }), {
        ...{ isNewRun: true, isNewThread: true, pending: { append: [{ message: user(name) }] } },
        dispatch: { type: "enqueue", dispatch: dispatch(name, { runId: id }) },
      });
    await store.commit(put(R1, "p1"));
    await peer.commit(put(R2, "p2"));
    expect((await store.runs.list({ threadId: T1 })).items.map(({ runId, ordinal }) => [runId, ordinal])).toEqual([
      [R1, 1],
      [R2, 2],
    ]);
    expect((await store.pending.load(T1)).entries.map(({ pendingId }) => pendingId)).toEqual(["p1", "p2"]);
    await failure(peer.commit(put(R2, "p3")), "storage_already_exists");
  });
}

function leaving(it: QueueTest): void {
  it("a run that is left behind is ended by the one that has the thread, and by nobody else", async ({ store }) => {
    await store.dispatches.enqueue(dispatch("d1"));
    const row = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    const fence = { dispatchId: row.dispatchId, claimToken: row.claimToken };
    const other = (status: "running" | "done") => write(runs[status]({ runId: R2, updatedAt: 3 }), { runId: R2, fence });
    await failure(store.commit(other("running")), "fence_lost");
    await failure(store.commit({ ...other("done"), dispatch: { type: "ack", result: ACKED } }), "fence_lost");
    expect((await store.commit(other("done"))).run).toMatchObject({ runId: R2, status: "done" });
    const { fence: _, ...unfenced } = write(runs.done({ runId: R3 }), { runId: R3, fence });
    await failure(store.commit(unfenced), "fence_lost");
  });
}

function activation(it: QueueTest): void {
  it("a run may be put down for later while another one executes: the thread stays with that one", async (world) => {
    const { store } = world;
    await store.dispatches.enqueue(dispatch("d1"));
    const row = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    const fence = { dispatchId: row.dispatchId, claimToken: row.claimToken };
    await store.commit(append(0, [user("m1")], { run: runs.running({ updatedAt: 5 }), fence }));
    const later = runs.created({ runId: R2, createdAt: 9, updatedAt: 9 });
    const enqueue = { type: "enqueue", dispatch: dispatch("d2", { runId: R2 }) } as const;
    const put = {
      threadId: T1,
      runId: R2,
      run: later,
      isNewRun: true,
      dispatch: enqueue,
      pending: { append: [{ message: user("m2") }] },
    } as const;
    expect(await store.commit(put)).toMatchObject({ run: { ...later, ordinal: 2 }, dispatch: { status: "queued" } });
    expect(await store.threads.load(T1)).toMatchObject({ activeRunId: R1, openRunId: R1, latestRun: { id: R1 } });
    // Once it is there, and whatever else it brings, it needs the fence.
    const { isNewRun: _, ...known } = put;
    await failure(store.commit({ ...known, run: runs.running({ runId: R2, createdAt: 9, updatedAt: 10 }) }), "fence_lost");
    await failure(
      store.commit({ ...append(1, [user("m3")], { run: runs.created({ runId: R3 }), isNewRun: true }), runId: R3 }),
      "fence_lost",
    );
    await store.commit(write(runs.done({ updatedAt: 7 }), { fence, dispatch: { type: "ack", result: ACKED } }));
    expect((await store.threads.load(T1))?.openRunId).toBeUndefined();
    expect(await store.queue.listDue()).toEqual([{ scopeId: "default", threadId: T1 }]);
  });

  it("a dispatch must belong to the thread and run of the commit, and an ack needs its fence", async ({ store }) => {
    const hostile: readonly ThreadCommit[] = [
      { threadId: T2, runId: R1, dispatch: { type: "enqueue", dispatch: dispatch("d1") } },
      { threadId: T1, runId: R1, dispatch: { type: "ack", result: ACKED } },
    ];
    for (const commit of hostile) await failure(store.commit(commit), "storage_validation");
    expect((await store.stats()).dispatches.queued).toBe(0);
  });

  it("gives back the dispatch as it can be read", async ({ store }) => {
    const given = await store.commit(write(runs.created(), { dispatch: { type: "enqueue", dispatch: dispatch("d1") } }));
    expect(given.dispatch).toMatchObject({ dispatchId: "d1", status: "queued" });
    expect(await store.dispatches.load(dispatch("d1").dispatchId)).toEqual(given.dispatch);
  });

  it("a run may be activated and claimed in one commit, unless the thread is taken", async ({ store, clock }) => {
    const enqueueClaimed = (id: string) => ({ type: "enqueue-claimed", dispatch: dispatch(id), claim: WORKER }) as const;
    const first = await store.commit(write(runs.created(), { dispatch: enqueueClaimed("d1") }));
    expect(first.dispatch).toMatchObject({ status: "claimed", claimedBy: "node-1", leaseUntil: clock.now() + WORKER.leaseMs });
    await failure(store.commit(write(runs.created({ updatedAt: 2 }), { dispatch: enqueueClaimed("d2") })), "fence_lost");
    expect(await store.dispatches.load(dispatch("d2").dispatchId)).toBeUndefined();
    expect(await store.queue.listDue()).toEqual([]);
  });
}

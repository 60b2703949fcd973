import { AwakenError, type Decision, decisionId, type RunId, ticketId, toolCallId } from "@awaken/contract";
import { hasQueue, type NewWish } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { claimed } from "./dispatches.ts";
import { ACKED, append, dispatch, R1, R2, runs, T1, T2, ticket, user, write } from "./records.ts";
import { failure, type QueueTest, type StoreTest } from "./world.ts";

type Fields = Partial<Omit<Decision, "id" | "action">>;

const decision = (id: string, fields: Fields = {}): Decision => ({ id: decisionId(id), action: "approve", decidedAt: 5, ...fields });

export const decide = (id: string, ticketOf = "tk1", fields: Fields = {}, runId: RunId = R1): NewWish => ({
  ...{ type: "decision", threadId: T1, runId, ticketId: ticketId(ticketOf) },
  decision: decision(id, fields),
});

const cancel = (wishId: string, fields: { by?: string; reason?: string } = {}): NewWish => ({
  ...{ type: "cancel", threadId: T1, runId: R1, wishId },
  ...fields,
});

/** As whoever writes does it. */
async function untilThrough<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (!AwakenError.is(thrown) || thrown.code !== "version_conflict") throw thrown;
    }
  }
}

const TWO = [ticket("tk1"), ticket("tk2")];

export function wishConformance(it: StoreTest): void {
  describe("decisions and cancel wishes", () => {
    appending(it);
    refusing(it);
    taking(it);
    endingRun(it);
    rivals(it);
  });
}

function appending(it: StoreTest): void {
  it("stand as they were made, until the owner takes them", async ({ store, peer, clock }) => {
    await store.commit(write(runs.waiting({}, TWO)));
    const made = { ...decide("d1", "tk1", { by: "ana", metadata: { rule: "always" } }), batchId: "d1" };
    const { wish, ...rest } = await peer.wishes.append(made);
    expect(rest).toEqual({});
    expect(wish).toEqual({ ...made, schemaVersion: 1, wishId: "d1", createdAt: clock.now() });
    await store.wishes.append(cancel("x1", { by: "ana", reason: "changed her mind" }));
    expect(await store.wishes.load("d1")).toEqual(wish);
    expect((await store.wishes.listOpen(R1)).map(({ wishId }) => wishId)).toEqual(["d1", "x1"]);
    expect(await store.wishes.listOpen(R2)).toEqual([]);
    expect(await store.wishes.load("none")).toBeUndefined();
  });

  it("the same id with the same content succeeds and changes nothing, with other content it is refused", async ({ store, clock }) => {
    await store.commit(write(runs.waiting({}, TWO)));
    const first = await store.wishes.append(decide("d1", "tk1", { by: "ana" }));
    clock.advance(10);
    expect(await store.wishes.append(decide("d1", "tk1", { by: "ana", decidedAt: 99 }))).toEqual(first);
    const others = [decide("d1", "tk2", { by: "ana" }), decide("d1", "tk1", { by: "bob" }), cancel("d1")];
    for (const other of others) await failure(store.wishes.append(other), "idempotency_conflict");
    expect(await store.wishes.listOpen(R1)).toEqual([first.wish]);
    await store.commit(write(runs.running({ updatedAt: 2 }), { takes: ["d1"] }));
    expect((await store.wishes.append(decide("d1", "tk1", { by: "ana" }))).wish).toMatchObject({ wishId: "d1", takenAt: clock.now() });
  });

  it("a decision may come before its run parks", async ({ store }) => {
    await store.commit(write(runs.running()));
    await store.wishes.append(decide("d1", "tk9"));
    expect((await store.commit(write(runs.waiting({ updatedAt: 2 }, [ticket("tk9")])))).hasWishes).toBe(true);
  });
}

function refusing(it: StoreTest): void {
  it("a ticket is decided once: another decision about it is ticket_not_open, until the first was taken and not followed", async ({
    store,
    peer,
  }) => {
    await store.commit(write(runs.waiting({}, TWO)));
    await store.wishes.append(decide("d1"));
    const refused = await failure(peer.wishes.append(decide("d2")), "ticket_not_open");
    expect(refused.details).toEqual({ ticketId: "tk1", runId: R1, decisionId: "d1" });
    await store.wishes.append(decide("d3", "tk2"));
    const decided = [{ ticketId: ticketId("tk1"), decisionId: decisionId("d1"), toolCallId: toolCallId("c1"), digest: "d" }];
    // One was followed, one refused.
    await store.commit(write(runs.running({ updatedAt: 2, decided }), { takes: ["d1", "d3"] }));
    await failure(store.wishes.append(decide("d2")), "ticket_not_open");
    await peer.wishes.append(decide("d4", "tk2"));
    await failure(store.wishes.append(decide("d5", "tk2")), "ticket_not_open");
  });

  it("of many processes that decide one ticket at once, one succeeds", async ({ store, peer }) => {
    await store.commit(write(runs.waiting({}, TWO)));
    const all = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? store : peer).wishes.append(decide(`d${index}`)));
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "ticket_not_open" });
    expect(await store.wishes.listOpen(R1)).toHaveLength(1);
  });

  it("a store without a queue cannot enqueue the run again, and says so", async ({ store }) => {
    if (hasQueue(store)) return;
    await store.commit(write(runs.waiting()));
    await failure(store.wishes.append(decide("d1"), { resume: true }), "capability_mismatch");
    expect(await store.wishes.listOpen(R1)).toEqual([]);
  });

  it("a ticket whose call was given up is not open, whatever else the run waits for", async ({ store }) => {
    const closed = [{ ticketId: ticketId("tk1"), toolCallId: toolCallId("c1") }];
    await store.commit(write(runs.waiting({ closed }, [ticket("tk2")])));
    await failure(store.wishes.append(decide("d1", "tk1")), "ticket_not_open");
    expect(await store.wishes.listOpen(R1)).toEqual([]);
  });

  it("unknown runs, runs of other threads, done runs and tickets that nobody waits for are refused", async ({ store }) => {
    await failure(store.wishes.append(decide("d1")), "run_not_found");
    await store.commit(write(runs.waiting({}, [ticket("tk1")])));
    await failure(store.wishes.append({ ...decide("d1"), threadId: T2 }), "run_not_found");
    await failure(store.wishes.append(decide("d1", "tk7")), "ticket_not_found");
    await failure(store.wishes.append(cancel(" ")), "storage_validation");
    const decided = [{ ticketId: ticketId("tk1"), decisionId: decisionId("d0") }];
    await store.commit(write(runs.running({ updatedAt: 2, decided })));
    await failure(store.wishes.append(decide("d1")), "ticket_not_open");
    await store.commit(write(runs.done({ updatedAt: 3 })));
    await failure(store.wishes.append(decide("d1", "tk3")), "ticket_not_open");
    await failure(store.wishes.append(cancel("x1")), "illegal_transition");
    expect((await store.stats()).wishes).toBe(0);
  });
}

function taking(it: StoreTest): void {
  it("every commit of the run tells whether there are some; taking them is a part of a commit", async ({ store, clock }) => {
    expect((await store.commit(write(runs.waiting({}, TWO)))).hasWishes).toBe(false);
    await store.wishes.append(decide("d1"));
    await store.wishes.append(decide("d2", "tk2"));
    expect((await store.commit({ threadId: T1, runId: R1 })).hasWishes).toBe(true);
    expect((await store.commit({ threadId: T1, runId: R2 })).hasWishes).toBe(false);
    expect((await store.commit(write(runs.running({ updatedAt: 2 }), { takes: ["d1"] }))).hasWishes).toBe(true);
    expect(await store.wishes.load("d1")).toMatchObject({ takenAt: clock.now() });
    expect((await store.wishes.listOpen(R1)).map(({ wishId }) => wishId)).toEqual(["d2"]);
    expect((await store.commit({ threadId: T1, runId: R1, takes: ["d2"] })).hasWishes).toBe(false);
  });

  it("what is not open cannot be taken, and nothing of such a commit stays", async ({ store }) => {
    await store.commit(write(runs.waiting({}, TWO)));
    await store.wishes.append(decide("d1"));
    await failure(store.commit({ threadId: T1, runId: R1, takes: ["d1", "d1"] }), "storage_validation");
    await failure(store.commit(append(0, [user("m1")], { takes: ["d1", "none"] })), "already_consumed");
    await failure(store.commit({ threadId: T1, runId: R2, takes: ["d1"] }), "already_consumed");
    expect(await store.messages.count(T1)).toBe(0);
    expect(await store.wishes.listOpen(R1)).toHaveLength(1);
    await store.commit({ threadId: T1, runId: R1, takes: ["d1"] });
    await failure(store.commit({ threadId: T1, runId: R1, takes: ["d1"] }), "already_consumed");
  });

  it("go with their thread, and when their time is over and their run is done", async ({ store, clock }) => {
    await store.commit(write(runs.waiting()));
    await store.wishes.append(decide("d1"));
    clock.advance(1_000);
    expect(await store.sweep({ wishesMs: 500 })).toMatchObject({ wishes: 0 });
    await store.commit(write(runs.done({ updatedAt: 2 })));
    expect(await store.sweep({ wishesMs: 1_000 })).toMatchObject({ wishes: 0 });
    expect(await store.sweep({ wishesMs: 999 })).toMatchObject({ wishes: 1 });
    await store.commit(write(runs.waiting({ runId: R2, createdAt: 3, updatedAt: 3 }, [ticket("tk1", { runId: R2 })])));
    await store.wishes.append(decide("d1", "tk1", {}, R2));
    await store.threads.delete(T1, "detach");
    expect(await store.wishes.load("d1")).toBeUndefined();
    expect((await store.stats()).wishes).toBe(0);
  });
}

function endingRun(it: StoreTest): void {
  it("a run that ends takes all that is open: no row waits for somebody who cannot come", async ({ store, clock }) => {
    await store.commit(write(runs.waiting({}, TWO)));
    await store.wishes.append(decide("d1"));
    await store.wishes.append(cancel("x1"));
    expect((await store.commit(write(runs.done({ updatedAt: 2 }), { takes: ["x1"] }))).hasWishes).toBe(false);
    expect(await store.wishes.listOpen(R1)).toEqual([]);
    expect(await store.wishes.load("d1")).toMatchObject({ takenAt: clock.now() });
  });
}

function rivals(it: StoreTest): void {
  it("a commit cannot decide a ticket about which another decision is open; what was decided before is left alone", async ({
    store,
    peer,
  }) => {
    await store.commit(write(runs.waiting({}, TWO)));
    await peer.wishes.append(decide("d1"));
    const decided = (id: string) => [{ ticketId: ticketId("tk1"), decisionId: decisionId(id) }];
    const refused = await failure(store.commit(write(runs.running({ updatedAt: 2, decided: decided("d2") }))), "ticket_not_open");
    expect(refused.details).toEqual({ ticketId: "tk1", runId: R1, decisionId: "d1" });
    expect(await store.runs.load(R1)).toMatchObject({ status: "waiting", decided: [] });
    await store.commit(write(runs.running({ updatedAt: 2, decided: decided("d1") }), { takes: ["d1"] }));
    await store.commit(write(runs.running({ updatedAt: 3, decided: decided("d1") })));
  });

  it("however a commit and a wish that decide one ticket race, one of them is told no, also inside longer transactions", async ({
    store,
    peer,
  }) => {
    for (let round = 0; round < 12; round++) {
      const runId = `rival${round}` as RunId;
      const at = { runId, createdAt: round + 1, updatedAt: round + 1 };
      await store.commit(write(runs.waiting(at, [ticket("tk1", { runId })])));
      const decided = [{ ticketId: ticketId("tk1"), decisionId: decisionId(`own${round}`) }];
      const owner = () =>
        store.transaction(async (ports) => {
          await ports.runs.load(runId);
          await ports.commit(write(runs.running({ ...at, updatedAt: 50 + round, decided })));
        });
      const asker = () =>
        peer.transaction(async (ports) => {
          if (round % 2 === 0) await ports.runs.load(runId);
          await ports.wishes.append(decide(`theirs${round}`, "tk1", {}, runId));
        });
      const told = await Promise.allSettled([untilThrough(owner), untilThrough(asker)]);
      expect(told.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const each of told) if (each.status === "rejected") expect(each.reason).toMatchObject({ code: "ticket_not_open" });
    }
  });
}

export function queueWishConformance(it: QueueTest): void {
  describe("decisions, cancel wishes and the queue", () => {
    resuming(it);
    parking(it);
    ending(it);
  });
}

function resuming(it: QueueTest): void {
  it("a wish for a parked run enqueues its dispatch in the same transaction when that is asked, once", async ({ store }) => {
    await store.commit(write(runs.waiting({}, TWO)));
    await store.wishes.append(decide("d0", "tk1"));
    expect(await store.dispatches.list(T1, {})).toEqual([]);
    const first = await store.wishes.append(decide("d1", "tk2"), { resume: true });
    expect(first.dispatch).toMatchObject({ status: "queued", threadId: T1, runId: R1, dedupeKey: "resume:r1" });
    expect(Object.keys(await store.wishes.append(cancel("x1"), { resume: true }))).toEqual(["wish"]);
    expect(Object.keys(await store.wishes.append(decide("d1", "tk2"), { resume: true }))).toEqual(["wish"]);
    expect(await store.dispatches.list(T1, {})).toEqual([first.dispatch]);
  });

  it("a run that is executed gets none: its owner hears of the wish at its next commit or renewal", async ({ store }) => {
    const fence = await claimed(store);
    await store.commit(write(runs.running(), { fence }));
    expect(await store.dispatches.extendLease(fence, 1_000)).toEqual({ hasWishes: false });
    expect(Object.keys(await store.wishes.append(cancel("x1"), { resume: true }))).toEqual(["wish"]);
    expect(await store.dispatches.extendLease(fence, 1_000)).toEqual({ hasWishes: true });
    expect((await store.commit(write(runs.running({ updatedAt: 2 }), { fence }))).hasWishes).toBe(true);
    expect((await store.dispatches.list(T1, {})).map(({ dispatchId }) => dispatchId)).toEqual(["d1"]);
  });
}

function parking(it: QueueTest): void {
  const settle = { type: "ack", result: ACKED } as const;

  it("the commit that parks a run enqueues it again when a wish came that nobody took", async ({ store }) => {
    const fence = await claimed(store);
    await store.commit(write(runs.running(), { fence }));
    await store.wishes.append(decide("d1", "tk1"), { resume: true });
    const parked = await store.commit(write(runs.waiting({ updatedAt: 2 }, TWO), { fence, dispatch: settle }));
    expect(parked).toMatchObject({ hasWishes: true, dispatch: { status: "acked" } });
    expect(parked.next).toMatchObject({ status: "queued", runId: R1, dedupeKey: "resume:r1" });
    expect(await store.dispatches.list(T1, { statuses: ["queued"] })).toEqual([parked.next]);
  });

  it("also when it was itself enqueued under that key, settled with the commit or not", async ({ store }) => {
    const fence = await claimed(store, "d1", { dedupeKey: "resume:r1" });
    await store.commit(write(runs.running(), { fence }));
    await store.wishes.append(decide("d1", "tk1"));
    const kept = await store.commit(write(runs.waiting({ updatedAt: 2 }, TWO), { fence }));
    expect(kept.next).toMatchObject({ status: "queued", runId: R1 });
    await store.dispatches.cancel(kept.next?.dispatchId ?? expect.fail());
    await store.commit(write(runs.running({ updatedAt: 3 }), { fence }));
    const parked = await store.commit(write(runs.waiting({ updatedAt: 4 }, TWO), { fence, dispatch: settle }));
    expect(parked.next).toMatchObject({ status: "queued", runId: R1, dedupeKey: "resume:r1" });
  });

  it("a run that parks with nothing to do, or takes what came, is not enqueued; nor is one that is queued already", async ({ store }) => {
    await store.commit(write(runs.running()));
    await store.wishes.append(decide("d1", "tk1"));
    const took = await store.commit(write(runs.waiting({ updatedAt: 2 }, TWO), { takes: ["d1"] }));
    expect(took.next).toBeUndefined();
    await store.wishes.append(decide("d2", "tk2"), { resume: true });
    expect((await store.commit(write(runs.waiting({ updatedAt: 3 }, TWO)))).next).toBeUndefined();
    expect(await store.dispatches.list(T1, {})).toHaveLength(1);
  });

  it("however decisions and the parking commit race, none is left without a dispatch", async ({ store, peer }) => {
    for (let round = 0; round < 10; round++) {
      const runId = `race${round}` as RunId;
      const at = { runId, createdAt: round + 1, updatedAt: round + 1 };
      const tickets = [ticket("tk1", { runId })];
      await store.commit(write(runs.running(at)));
      await Promise.all([
        store.commit(write(runs.waiting({ ...at, updatedAt: 50 + round }, tickets))),
        peer.wishes.append(decide(`race-d${round}`, "tk1", {}, runId), { resume: true }),
      ]);
      const open = (await store.dispatches.list(T1, { statuses: ["queued"], limit: 200 })).filter((row) => row.runId === runId);
      expect(open).toHaveLength(1);
    }
  });
}

function ending(it: QueueTest): void {
  it("the commit that ends a run enqueues a new one when messages wait that it would take", async ({ store }) => {
    const fence = await claimed(store);
    await store.commit(write(runs.running(), { fence }));
    await store.pending.append(T1, [{ message: user("p1") }]);
    const ended = await store.commit(write(runs.done({ updatedAt: 2 }), { fence, dispatch: { type: "ack", result: ACKED } }));
    expect(ended.next).toMatchObject({ status: "queued", threadId: T1, dedupeKey: "resume:r1" });
    expect(ended.next?.runId).not.toBe(R1);
    expect(await store.pending.listUnattended()).toEqual([]);
  });

  it("not when nothing waits, when it takes the messages itself, when they are for nobody, or when work is queued", async ({ store }) => {
    const end = (runId: RunId, more = {}) => store.commit(write(runs.done({ runId, createdAt: 1, updatedAt: 2 }), more));
    expect((await end(R1)).next).toBeUndefined();
    const steer = { boundary: "next-step", targetRunId: R1, fallbackToNewRun: false } as const;
    await store.pending.append(T1, [{ message: user("p0"), deliveryMode: steer }]);
    expect((await end(R2)).next).toBeUndefined();
    await store.pending.append(T1, [{ message: user("p1") }]);
    await store.dispatches.enqueue(dispatch("d1"));
    expect((await end("r9" as RunId)).next).toBeUndefined();
  });
}

export function fenceConformance(it: QueueTest): void {
  it("while a dispatch of the thread is claimed, a run or messages without its fence are fence_lost", async ({ store, peer }) => {
    const fence = await claimed(store);
    await store.commit(append(0, [user("m1")], { run: runs.running(), fence }));
    await failure(peer.commit(append(1, [user("m2")])), "fence_lost");
    await failure(peer.commit(write(runs.running({ updatedAt: 2 }))), "fence_lost");
    await failure(peer.commit(write(runs.done({ runId: R2, createdAt: 3, updatedAt: 3 }))), "fence_lost");
    expect(await store.messages.count(T1)).toBe(1);
    expect(await store.runs.load(R2)).toBeUndefined();
    // What belongs to nobody alone needs no fence, and other threads are not held.
    await peer.commit({ threadId: T1, runId: R2, events: [] });
    await peer.commit({ ...append(0, [user("m1")]), threadId: T2 });
    await store.dispatches.ack(fence);
    await peer.commit(append(1, [user("m2")]));
  });

  it("a run that was put down for later can be called off while another one has the thread, whose pointers stay", async ({
    store,
    peer,
  }) => {
    const fence = await claimed(store);
    await store.commit(write(runs.running(), { fence }));
    await peer.commit(write(runs.created({ runId: R2, createdAt: 3, updatedAt: 3 }), { isNewRun: true }));
    await peer.commit(write(runs.done({ runId: R2, createdAt: 3, updatedAt: 4 })));
    expect(await store.runs.load(R2)).toMatchObject({ status: "done" });
    expect(await store.threads.load(T1)).toMatchObject({ activeRunId: R1, openRunId: R1, latestRun: { id: R1 } });
    await failure(peer.commit(append(0, [user("m1")], { run: runs.done({ updatedAt: 5 }) })), "fence_lost");
  });
}

import { type DispatchId, dispatchId, runId, type ThreadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { claimed, fenceOf } from "./dispatches.ts";
import { append, dispatch, R1, R2, runs, T1, T2, takeNext, user, WORKER, write } from "./records.ts";
import type { QueueTest } from "./world.ts";

/** Ids fall where times say nothing: neither decides. */
export function queueOrderConformance(it: QueueTest): void {
  describe("what is queued stands behind what was queued before, whatever clocks say", () => {
    enqueued(it);
    committed(it);
    leftOver(it);
    posted(it);
  });
}

const queuedOn = async (store: QueueStore, id: ThreadId = T1): Promise<readonly DispatchId[]> =>
  (await store.dispatches.list(id, { statuses: ["queued"] })).map((row) => row.dispatchId);

/** Claims and settles all that is due now. */
async function drain(store: QueueStore, id: ThreadId = T1): Promise<readonly DispatchId[]> {
  const ids: DispatchId[] = [];
  for (;;) {
    const row = await takeNext(store, id, WORKER);
    if (row === undefined) return ids;
    ids.push(row.dispatchId);
    await store.dispatches.ack(fenceOf(row));
  }
}

function enqueued(it: QueueTest): void {
  it("by one whose clock is ahead, and the later one is not due before", async ({ store, peer, clock }) => {
    await store.dispatches.enqueue(dispatch("z"));
    clock.advance(-700);
    await peer.dispatches.enqueue(dispatch("y"));
    await peer.dispatches.enqueue(dispatch("x"));
    expect(await queuedOn(store)).toEqual(["z", "y", "x"]);
    expect(await drain(peer)).toEqual([]);
    expect(await store.queue.nextDueInMs()).toBe(700);
    clock.advance(700);
    expect(await drain(peer)).toEqual(["z", "y", "x"]);
  });

  it("in the same millisecond, and all of it is due at once", async ({ store, peer }) => {
    for (const [index, id] of ["e", "d", "c", "f", "a"].entries()) await (index % 2 === 0 ? store : peer).dispatches.enqueue(dispatch(id));
    expect(await drain(store)).toEqual(["e", "d", "c", "f", "a"]);
  });

  it("however far a clock was set back, and nobody waits for more than a second because of it", async ({ store, clock }) => {
    await store.dispatches.enqueue(dispatch("z"));
    clock.advance(-3_600_000);
    expect(await store.dispatches.enqueue(dispatch("y"))).toMatchObject({ availableAt: clock.now() + 1_000, updatedAt: clock.now() });
    expect(await store.dispatches.enqueue(dispatch("x", { availableAt: clock.now() }))).toMatchObject({ availableAt: clock.now() });
    expect(await queuedOn(store)).toEqual(["z", "y", "x"]);
    clock.advance(1_000);
    expect(await drain(store)).toEqual(["y", "x"]);
  });

  it("and not behind what is over, of another thread or of another priority", async ({ store, clock }) => {
    await store.dispatches.enqueue(dispatch("other", { threadId: T2 }));
    await store.dispatches.enqueue(dispatch("over"));
    await store.dispatches.cancel(dispatchId("over"));
    clock.advance(-700);
    expect(await store.dispatches.enqueue(dispatch("z"))).toMatchObject({ createdAt: clock.now(), availableAt: clock.now() });
    await store.dispatches.enqueue(dispatch("first", { priority: 1 }));
    expect(await drain(store)).toEqual(["first", "z"]);
  });

  it("and behind one that is held, which may come back", async ({ store, peer, clock }) => {
    const row = await claimed(store, "z");
    clock.advance(-700);
    await peer.dispatches.enqueue(dispatch("y"));
    await peer.dispatches.release(fenceOf(row));
    clock.advance(700);
    expect(await drain(store)).toEqual(["z", "y"]);
  });

  it("and not behind the delay of one that waits", async ({ store, clock }) => {
    await store.dispatches.enqueue(dispatch("z", { availableAt: clock.now() + 60_000 }));
    await store.dispatches.enqueue(dispatch("y"));
    expect(await drain(store)).toEqual(["y"]);
  });
}

function committed(it: QueueTest): void {
  const put = (id: string, run = runId(`r-${id}`)) =>
    write(runs.created({ runId: run }), { isNewRun: true, dispatch: { type: "enqueue", dispatch: dispatch(id, { runId: run }) } });

  it("by commits of processes whose clocks differ", async ({ store, peer, clock }) => {
    await peer.commit(put("z"));
    clock.advance(300);
    await store.commit(put("y"));
    clock.advance(-600);
    await peer.commit(put("x"));
    await peer.commit(put("w"));
    clock.advance(300);
    await store.commit(put("v"));
    expect(await queuedOn(store)).toEqual(["z", "y", "x", "w", "v"]);
    clock.advance(600);
    expect(await drain(store)).toEqual(["z", "y", "x", "w", "v"]);
  });

  it("also where the process knows the thread, and not that somebody else queued something on it", async ({ store, peer, clock }) => {
    await peer.commit(put("z"));
    for (const [ms, id] of [
      [0, "y"],
      [300, "w"],
    ] as const) {
      clock.advance(ms);
      await store.dispatches.enqueue(dispatch(id));
      clock.advance(-ms);
      await peer.commit(put(`${id}-behind`));
    }
    expect(await queuedOn(store)).toEqual(["z", "y", "y-behind", "w", "w-behind"]);
    expect(await drain(peer)).toEqual(["z", "y", "y-behind"]);
    clock.advance(300);
    expect(await drain(peer)).toEqual(["w", "w-behind"]);
  });
}

function leftOver(it: QueueTest): void {
  it("by what is done again for a wish that nobody took", async ({ store, peer, clock }) => {
    await store.commit(write(runs.waiting()));
    await store.dispatches.enqueue(dispatch("~", { runId: R2 }));
    clock.advance(-700);
    const appended = await peer.wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "w1" }, { resume: true });
    expect(await queuedOn(store)).toEqual(["~", appended.dispatch?.dispatchId]);
  });

  it("by what goes on when a run parks or ends", async ({ store, peer, clock }) => {
    const row = await claimed(store, "a");
    await store.commit(append(0, [user("m1")], { run: runs.running(), fence: fenceOf(row) }));
    await store.wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "w1" });
    await peer.dispatches.enqueue(dispatch("~", { runId: R2 }));
    clock.advance(-700);
    const parked = await store.commit(write(runs.waiting({ updatedAt: 2 }), { fence: fenceOf(row) }));
    expect(await queuedOn(peer)).toEqual(["~", parked.next?.dispatchId]);
  });
}

function posted(it: QueueTest): void {
  it("by commits of other threads, and several of one commit in their order", async ({ store, peer, clock }) => {
    await store.dispatches.enqueue(dispatch("z", { threadId: T2 }));
    clock.advance(-700);
    const outbound = ["y", "x", "w"].map((id) => ({ id: `o-${id}`, threadId: T2, dispatch: dispatch(id, { threadId: T2, runId: R2 }) }));
    await peer.commit(append(0, [user("m1")], { outbound }));
    expect(await queuedOn(store, T2)).toEqual(["z", "y", "x", "w"]);
    expect(await drain(store, T2)).toEqual([]);
    clock.advance(700);
    expect(await drain(store, T2)).toEqual(["z", "y", "x", "w"]);
  });
}

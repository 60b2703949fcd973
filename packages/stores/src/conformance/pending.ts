import { messageId, scopeId } from "@awaken/contract";
import type { NewPending, PendingConsumption, PendingQueue, QueueStore, ThreadCommit } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, dispatch, R1, R2, runs, summary, T1, T2, T3, takeNext, user, WORKER, write } from "./records.ts";
import { failure, type QueueTest, type QueueWorld } from "./world.ts";

export function pendingConformance(it: QueueTest): void {
  describe("pending messages", () => {
    editing(it);
    ordering(it);
    consuming(it);
    selection(it);
    attention(it);
  });
}

const steer = (id: string, targetRunId = R1): NewPending => ({
  message: user(id),
  deliveryMode: { boundary: "next-step", targetRunId, fallbackToNewRun: false },
});
const note = (id: string): NewPending => ({ message: user(id) });
const placesOf = ({ entries }: PendingQueue): readonly string[] => entries.map((entry) => `${entry.position} ${entry.pendingId}`);
const read = async ({ store }: QueueWorld): Promise<readonly string[]> => placesOf(await store.pending.load(T1));

function editing(it: QueueTest): void {
  it("stand at the end of the queue, with the default delivery and revision 1", async ({ store, clock }) => {
    const [first] = await store.pending.append(T1, [note("a"), steer("b")]);
    expect(first).toEqual({
      ...{ schemaVersion: 1, pendingId: "a", threadId: T1, position: 1, message: user("a"), revision: 1 },
      deliveryMode: { boundary: "new-run", granularity: "batch", barrier: false, fallbackToNewRun: true },
      ...{ createdAt: clock.now(), updatedAt: clock.now() },
    });
    const [third] = await store.pending.append(T1, [note("c")]);
    expect(third).toMatchObject({ position: 3 });
    const { entries } = await store.pending.load(T1);
    expect([entries[0], entries[2]]).toEqual([first, third]);
    await failure(store.pending.append(T1, [note("d"), note("b")]), "storage_already_exists");
    await failure(store.pending.append(T1, [note("d"), note("d")]), "storage_already_exists");
    await failure(store.pending.append(T1, [note("d"), { message: summary("s", { fromSeq: 1, toSeq: 1 }) }]), "storage_validation");
    expect(placesOf(await store.pending.load(T1))).toEqual(["1 a", "2 b", "3 c"]);
  });

  it("server-and-durability 50: editing bumps the revision; a stale revision is a conflict; an id change is refused", async ({
    store,
    clock,
  }) => {
    await store.pending.append(T1, [note("a")]);
    clock.advance(5);
    const id = messageId("a");
    const edited = await store.pending.update(T1, id, { revision: 1, message: user("a", "new words"), deliveryMode: { barrier: true } });
    expect(edited).toMatchObject({
      revision: 2,
      updatedAt: clock.now(),
      createdAt: clock.now() - 5,
      deliveryMode: { barrier: true, boundary: "new-run" },
    });
    const conflict = await failure(store.pending.update(T1, id, { revision: 1 }), "version_conflict");
    expect(conflict.details).toMatchObject({ expected: 1, actual: 2 });
    await failure(store.pending.retract(T1, id, 1), "version_conflict");
    await failure(store.pending.update(T1, id, { revision: 2, message: user("b") }), "storage_validation");
    expect((await store.pending.load(T1)).entries).toEqual([edited]);
  });

  it("server-and-durability 51: editing a consumed message reports already_consumed, not not_found", async ({ store }) => {
    await store.commit(append(0, [user("m1")]));
    await failure(store.pending.update(T1, messageId("m1"), { revision: 1 }), "already_consumed");
    await failure(store.pending.retract(T1, messageId("m1"), 1), "already_consumed");
    await failure(store.pending.append(T1, [note("m1")]), "already_consumed");
    await failure(store.pending.update(T1, messageId("zzz"), { revision: 1 }), "storage_not_found");
    await failure(store.pending.retract(T2, messageId("m1"), 1), "storage_not_found");
  });
}

function ordering(it: QueueTest): void {
  it("retracting leaves no gap", async (world) => {
    const { store } = world;
    await store.pending.append(T1, [note("a"), note("b"), note("c")]);
    await store.pending.retract(T1, messageId("a"), 1);
    expect(await read(world)).toEqual(["1 b", "2 c"]);
    await store.pending.append(T1, [note("a")]);
    expect(await read(world)).toEqual(["1 b", "2 c", "3 a"]);
  });

  it("reordering needs the current revision of the queue and every id once", async (world) => {
    const { store } = world;
    await store.pending.append(T1, [note("a"), note("b"), note("c")]);
    const { revision } = await store.pending.load(T1);
    const order = (...ids: readonly string[]) => ids.map((id) => messageId(id));
    const moved = await store.pending.reorder(T1, order("c", "a", "b"), revision);
    expect(placesOf(moved)).toEqual(["1 c", "2 a", "3 b"]);
    expect(await store.pending.load(T1)).toEqual(moved);
    await failure(store.pending.reorder(T1, order("a", "b", "c"), revision), "version_conflict");
    for (const bad of [order("a", "b"), order("a", "b", "b"), order("a", "b", "x"), order("a", "b", "c", "c")]) {
      await failure(store.pending.reorder(T1, bad, moved.revision), "storage_validation");
    }
    expect(await store.pending.load(T1)).toEqual(moved);
  });

  it("the revision of the queue changes with every change of it", async ({ store }) => {
    const seen = new Set<string>();
    const look = async () => seen.add((await store.pending.load(T1)).revision);
    await look();
    await store.pending.append(T1, [note("a"), note("b")]);
    await look();
    await store.pending.update(T1, messageId("a"), { revision: 1 });
    await look();
    await store.pending.retract(T1, messageId("b"), 1);
    await look();
    expect(seen.size).toBe(4);
  });
}

/** A commit of `R1` that consumes these entries and appends their messages. */
const consume = (boundary: PendingConsumption["boundary"], ids: readonly string[], fields: Partial<ThreadCommit> = {}): ThreadCommit =>
  append(
    0,
    ids.map((id) => user(id)),
    {
      pending: { consume: { boundary, entries: ids.map((id) => ({ pendingId: messageId(id), revision: 1 })) } },
      ...fields,
    },
  );

function consuming(it: QueueTest): void {
  it("are consumed by the commit that appends them, and the rest is numbered anew", async (world) => {
    const { store } = world;
    await store.pending.append(T1, [note("a"), note("b"), { message: user("c"), deliveryMode: { granularity: "one" } }, note("d")]);
    expect(await store.commit(consume("new-run", ["a", "b"]))).toMatchObject({ messageCount: 2, hasPending: true });
    expect(await read(world)).toEqual(["1 c", "2 d"]);
    await failure(store.pending.update(T1, messageId("a"), { revision: 1 }), "already_consumed");
  });

  it("may be appended and consumed in one commit, and nothing is left behind when that fails", async (world) => {
    const { store } = world;
    await store.pending.append(T1, [note("a")]);
    const submit = consume("new-run", ["a", "b"], {});
    const both = { ...submit, pending: { append: [note("b")], ...submit.pending } };
    await failure(
      store.commit({ ...both, messageDelta: { messages: [user("a"), user("b")], expectedMessageCount: 3 } }),
      "message_version_conflict",
    );
    expect(await read(world)).toEqual(["1 a"]);
    const onlyNew = consume("new-run", ["b"]);
    await failure(store.commit({ ...onlyNew, pending: { append: [note("b")], ...onlyNew.pending } }), "pending_selection_conflict");
    expect(await read(world)).toEqual(["1 a"]);
    expect(await store.messages.count(T1)).toBe(0);
    expect(await store.commit(both)).toMatchObject({ messageCount: 2, hasPending: false });
    expect(await read(world)).toEqual([]);
    expect((await store.commit({ threadId: T1, runId: R1, pending: { append: [note("c")] } })).hasPending).toBeUndefined();
  });

  it("server-and-durability 55: after a freeze conflict the run's trigger ids contain no message that was not committed", async (world) => {
    const { store } = world;
    await store.commit(write(runs.running()));
    await store.pending.append(T1, [note("a"), note("b")]);
    const triggered = runs.running({ updatedAt: 2, input: { triggerMessageIds: [messageId("a")], selectedMessageIds: [] } });
    await failure(store.commit(consume("new-run", ["a"], { run: triggered })), "pending_selection_conflict");
    expect((await store.runs.load(R1))?.input).toEqual({ triggerMessageIds: [], selectedMessageIds: [] });
    expect(await read(world)).toEqual(["1 a", "2 b"]);

    await store.pending.update(T1, messageId("a"), { revision: 1, message: user("a", "edited") });
    await failure(store.commit(consume("new-run", ["a", "b"])), "pending_selection_conflict");
    expect(await store.messages.count(T1)).toBe(0);
  });

  it("an edit and a consumption at once: one of them loses", async (world) => {
    const { store, peer } = world;
    await store.pending.append(T1, [note("a")]);
    const outcomes = await Promise.allSettled([
      store.commit(consume("new-run", ["a"])),
      peer.pending.update(T1, messageId("a"), { revision: 1, message: user("a", "edited") }),
    ]);
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(1);
    const lost = outcomes.find((outcome) => outcome.status === "rejected");
    expect(["pending_selection_conflict", "already_consumed"]).toContain(lost?.reason.code);
  });
}

function selection(it: QueueTest): void {
  it("server-and-durability 53: a next-step freeze skips a queued new-run entry; a barrier new-run entry blocks it", async (world) => {
    const { store } = world;
    await store.pending.append(T1, [note("queued"), steer("steer")]);
    await store.commit(consume("next-step", ["steer"]));
    expect(await read(world)).toEqual(["1 queued"]);
    await store.pending.update(T1, messageId("queued"), { revision: 1, deliveryMode: { barrier: true } });
    await store.pending.append(T1, [steer("again")]);
    await failure(
      store.commit({ ...consume("next-step", ["again"]), messageDelta: { messages: [user("again")], expectedMessageCount: 1 } }),
      "pending_selection_conflict",
    );
    expect(await read(world)).toEqual(["1 queued", "2 again"]);
  });

  it("server-and-durability 54: a steer for a run that ended is not consumed by the next run", async (world) => {
    const { store } = world;
    await store.pending.append(T1, [steer("steer"), note("next")]);
    await store.commit(write(runs.done()));
    const next = runs.running({ runId: R2, createdAt: 2, updatedAt: 2 });
    for (const boundary of ["next-step", "on-natural-end", "new-run"] as const) {
      await failure(store.commit(consume(boundary, ["steer"], { runId: R2, run: next })), "pending_selection_conflict");
    }
    await store.commit(consume("new-run", ["next"], { runId: R2, run: next }));
    expect(await read(world)).toEqual(["1 steer"]);
  });
}

function attention(it: QueueTest): void {
  it("threads whose messages nobody will read are listed", async ({ store }) => {
    for (const threadId of [T1, T2, T3]) await store.pending.append(threadId, [note("a")]);
    expect([...(await store.pending.listUnattended())].sort()).toEqual([T1, T2, T3]);
    const walked = [
      await store.pending.listUnattended(1),
      await store.pending.listUnattended(1, T1),
      await store.pending.listUnattended(5, T2),
    ];
    expect([...walked, await store.pending.listUnattended(1, T3)]).toEqual([[T1], [T2], [T3], []]);
    await store.dispatches.enqueue(dispatch("d1"));
    await store.commit(write(runs.running({ threadId: T2 })));
    expect(await store.pending.listUnattended()).toEqual([T3]);
    await takeNext(store, T1, WORKER);
    expect(await store.pending.listUnattended()).toEqual([T3]);
    await store.commit(write(runs.waiting({ threadId: T2, updatedAt: 2 })));
    expect([...(await store.pending.listUnattended())].sort()).toEqual([T2, T3]);
    await store.pending.retract(T3, messageId("a"), 1);
    expect(await store.pending.listUnattended()).toEqual([T2]);
  });

  it("threads whose messages nobody comes to read are listed, of all tenants, and not those that wait for a decision", async ({
    store,
  }) => {
    const stranded = async (query: Parameters<QueueStore["queue"]["listStranded"]>[0] = {}) =>
      (await store.queue.listStranded(query)).map(({ scopeId: scope, threadId }) =>
        scope === "default" ? threadId : `${scope}/${threadId}`,
      );
    const other = store.scoped(scopeId("other"));
    for (const threadId of [T3, T1, T2]) await store.pending.append(threadId, [note("a")]);
    await other.pending.append(T1, [note("a")]);
    expect(await stranded()).toEqual([T1, T2, T3, `other/${T1}`]);
    expect(await stranded({ limit: 1 })).toEqual([T1]);
    expect(await stranded({ after: { scopeId: store.scopeId, threadId: T2 } })).toEqual([T3, `other/${T1}`]);
    expect(await stranded({ after: { scopeId: other.scopeId, threadId: T1 } })).toEqual([]);
    await other.pending.retract(T1, messageId("a"), 1);
    await store.dispatches.enqueue(dispatch("d1"));
    await store.commit(write(runs.running({ threadId: T2 })));
    expect(await stranded()).toEqual([T3]);
    await takeNext(store, T1, WORKER);
    expect(await stranded()).toEqual([T3]);
    // It reads them when it goes on.
    await store.commit(write(runs.waiting({ threadId: T2, updatedAt: 2 })));
    expect(await stranded()).toEqual([T3]);
    await store.commit(write(runs.done({ threadId: T2, updatedAt: 3 })));
    // The end of a run queues one for what waits.
    expect(await stranded()).toEqual([T3]);
    await store.pending.retract(T3, messageId("a"), 1);
    expect(await stranded()).toEqual([]);
  });
}

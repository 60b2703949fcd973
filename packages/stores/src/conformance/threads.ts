import { type ThreadId, threadId } from "@awaken/contract";
import { type ChildStrategy, hasQueue, type ThreadPosition, type ThreadRecord } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import {
  append,
  assistant,
  checkpoint,
  childOf,
  claim,
  dispatch,
  keyed,
  ofQueue,
  R1,
  R2,
  runs,
  state,
  T1,
  T2,
  T3,
  ticket,
  user,
  write,
} from "./records.ts";
import { failure, type StoreTest, type World } from "./world.ts";

export function threadConformance(it: StoreTest): void {
  describe("threads", () => {
    records(it);
    lineage(it);
    deletion(it);
    deletionOfEverything(it);
    listing(it);
    bounds(it);
    unknownThreads(it);
  });
}

const idsOf = (threads: readonly ThreadRecord[]): readonly string[] => threads.map((thread) => thread.id);

function records(it: StoreTest): void {
  it("are created once, stamped with the clock of the store", async ({ store, clock }) => {
    const thread = await store.threads.create({ id: T1, resourceId: " customer-7 ", title: "Hi", custom: { a: [1, null] } });
    expect(thread).toEqual({
      schemaVersion: 1,
      id: T1,
      resourceId: "customer-7",
      metadata: { createdAt: clock.now(), updatedAt: clock.now(), title: "Hi", custom: { a: [1, null] } },
    });
    expect(await store.threads.load(T1)).toEqual(thread);
    await failure(store.threads.create({ id: T1 }), "storage_already_exists");
    expect(await store.threads.load(T1)).toEqual(thread);
  });

  it("server-and-durability 70: a patch keeps what is absent, clears what is null and merges custom keys", async ({ store, clock }) => {
    await store.threads.create({ id: T1 });
    await store.threads.create({ id: T2, parentThreadId: T1, resourceId: "r", title: "old", custom: { a: 1, b: 1 } });
    const createdAt = clock.now();
    clock.advance(5);
    const kept = await store.threads.update(T2, { custom: { b: 2, c: null } });
    expect(kept).toMatchObject({ parentThreadId: T1, resourceId: "r" });
    expect(kept.metadata).toEqual({ createdAt, updatedAt: createdAt + 5, title: "old", custom: { a: 1, b: 2, c: null } });
    const cleared = await store.threads.update(T2, { parentThreadId: null, resourceId: null, title: null });
    expect(Object.keys(cleared).sort()).toEqual(["id", "metadata", "schemaVersion"]);
    expect(await store.threads.load(T2)).toEqual(cleared);
    await failure(store.threads.update(T3, { title: "x" }), "storage_not_found");
  });

  it("are made by the first commit that names them, and touched by each", async ({ store, clock }) => {
    await store.commit(append(0, [user("m1")]));
    const first = await store.threads.load(T1);
    expect(first?.metadata).toEqual({ createdAt: clock.now(), updatedAt: clock.now(), custom: {} });
    clock.advance(7);
    await store.commit({ threadId: T1, runId: R1 });
    expect((await store.threads.load(T1))?.metadata).toEqual({ ...first?.metadata, updatedAt: clock.now() });
  });

  it("take the parent of their run, if they have none", async ({ store }) => {
    await store.threads.create({ id: T2 });
    await store.threads.create({ id: T3 });
    await store.commit(write(runs.running({ activation: childOf("t2") })));
    expect(await store.threads.load(T1)).toMatchObject({ parentThreadId: T2 });
    await store.commit(write(runs.running({ activation: childOf("t3"), updatedAt: 2 })));
    expect(await store.threads.load(T1)).toMatchObject({ parentThreadId: T2 });
  });

  it("that were taken from their parent have none any more, whatever their run writes", async ({ store }) => {
    await store.threads.create({ id: T2 });
    await store.commit(write(runs.running({ activation: childOf("t2") })));
    await store.threads.delete(T2, "detach");
    await store.commit(write(runs.running({ activation: childOf("t2"), updatedAt: 2 })));
    expect((await store.threads.load(T1))?.parentThreadId).toBeUndefined();
    await store.commit(write(runs.done({ activation: childOf("t2"), updatedAt: 3 })));
    expect(await store.runs.load(R1)).toMatchObject({ status: "done" });
  });
}

function lineage(it: StoreTest): void {
  it("server-and-durability 1: a thread cannot be its own parent; a parent that does not exist is refused on create, patch and commit", async ({
    store,
  }) => {
    await failure(store.threads.create({ id: T1, parentThreadId: T1 }), "storage_validation");
    await failure(store.threads.create({ id: T1, parentThreadId: "nobody" }), "storage_validation");
    expect(await store.threads.load(T1)).toBeUndefined();

    await store.threads.create({ id: T1, title: "kept" });
    await failure(store.threads.update(T1, { parentThreadId: T1, title: "lost" }), "storage_validation");
    await failure(store.threads.update(T1, { parentThreadId: "nobody", title: "lost" }), "storage_validation");
    expect(await store.threads.load(T1)).toMatchObject({ metadata: { title: "kept" } });

    const orphan = runs.running({ threadId: T2, activation: childOf("nobody") });
    await failure(store.commit({ ...append(0, [user("m1")]), threadId: T2, run: orphan }), "storage_validation");
    expect(await store.threads.load(T2)).toBeUndefined();
    expect(await store.runs.load(R1)).toBeUndefined();
    expect(await store.messages.count(T2)).toBe(0);
  });

  it("server-and-durability 2: a cycle through a grandparent is refused and nothing is written", async ({ store }) => {
    await store.threads.create({ id: T1 });
    await store.threads.create({ id: T2, parentThreadId: T1 });
    await store.threads.create({ id: T3, parentThreadId: T2 });
    const before = await store.threads.load(T1);
    await failure(store.threads.update(T1, { parentThreadId: T3, title: "lost" }), "storage_validation");
    await failure(store.commit(write(runs.running({ activation: childOf("t3") }), append(0, [user("m1")]))), "storage_validation");
    expect(await store.threads.load(T1)).toEqual(before);
    expect(await store.runs.load(R1)).toBeUndefined();
    expect(await store.messages.count(T1)).toBe(0);
  });

  it("a thread may move under another parent", async ({ store }) => {
    for (const id of [T1, T2]) await store.threads.create({ id });
    await store.threads.create({ id: T3, parentThreadId: T1 });
    expect(await store.threads.update(T3, { parentThreadId: T2 })).toMatchObject({ parentThreadId: T2 });
    expect(await store.threads.count({ lineage: { type: "child-of", threadId: T1 } })).toBe(0);
    expect(await store.threads.update(T1, { parentThreadId: T3 })).toMatchObject({ parentThreadId: T3 });
  });
}

/** T1 has the child T2, which has the child T3. */
async function family({ store }: World): Promise<void> {
  await store.threads.create({ id: T1 });
  await store.threads.create({ id: T2, parentThreadId: T1 });
  await store.threads.create({ id: T3, parentThreadId: T2 });
}

function deletion(it: StoreTest): void {
  const left = async ({ store }: World): Promise<readonly string[]> => [...idsOf((await store.threads.list({})).items)].sort();

  it("server-and-durability 3: deleting with detach keeps grandchildren attached to their own parent", async (world) => {
    await family(world);
    await world.store.threads.delete(T1, "detach");
    expect(await left(world)).toEqual([T2, T3]);
    expect(Object.keys((await world.store.threads.load(T2)) ?? {})).not.toContain("parentThreadId");
    expect(await world.store.threads.load(T3)).toMatchObject({ parentThreadId: T2 });
  });

  it("reject refuses a thread with a child and deletes one without", async (world) => {
    await family(world);
    await failure(world.store.threads.delete(T2, "reject"), "storage_validation");
    expect(await left(world)).toEqual([T1, T2, T3]);
    await world.store.threads.delete(T3, "reject");
    expect(await left(world)).toEqual([T1, T2]);
  });

  it("cascade deletes all below, and nothing beside", async (world) => {
    await family(world);
    await world.store.threads.create({ id: threadId("sibling"), parentThreadId: T1 });
    await world.store.threads.delete(T2, "cascade");
    expect(await left(world)).toEqual(["sibling", T1]);
    await world.store.threads.delete(T1, "cascade");
    expect(await left(world)).toEqual([]);
  });

  it("a missing thread is not found", async ({ store }) => {
    for (const strategy of ["reject", "detach", "cascade"] satisfies ChildStrategy[]) {
      await failure(store.threads.delete(T1, strategy), "storage_not_found");
    }
  });

  it("is refused while a run is active, of the thread or of one that goes with it", async (world) => {
    const { store } = world;
    await family(world);
    await store.commit(write(runs.running({ threadId: T3 })));
    // A run that is queued behind the active one takes the pointer, not the run.
    await store.commit(write(runs.created({ threadId: T3, runId: R2, createdAt: 2, updatedAt: 2 })));
    await failure(store.threads.delete(T3, "detach"), "thread_already_running");
    await failure(store.threads.delete(T1, "cascade"), "thread_already_running");
    expect(await left(world)).toEqual([T1, T2, T3]);
    await store.threads.delete(T1, "detach");
    await store.commit(write(runs.done({ threadId: T3, updatedAt: 3 })));
    await store.threads.delete(T3, "detach");
    expect(await left(world)).toEqual([T2]);
  });
}

/** A row of every kind that hangs on T1. */
async function fill({ store }: World): Promise<void> {
  await store.commit(
    append(0, [user("m1"), assistant("m2", ["c1"])], {
      run: runs.waiting(),
      threadState: state(1, { a: 1 }),
      ledger: { claims: [claim("c1")], outcomes: [] },
      events: [keyed("run-queued", "k")],
      ...ofQueue(store, {
        pending: { append: [{ message: user("p1") }] },
        dispatch: { type: "enqueue", dispatch: dispatch("d1", { dedupeKey: "k" }) },
      }),
    }),
  );
  await store.streamCheckpoints.put(checkpoint());
  await store.streamCheckpoints.put(checkpoint({ runId: R2 }));
}

function deletionOfEverything(it: StoreTest): void {
  it("deletion takes messages, pending messages, state, runs, dispatches, ledger rows, events and stream checkpoints with it", async (world) => {
    const { store } = world;
    await fill(world);
    await store.threads.delete(T1, "detach");
    expect(await store.threads.loadHead(T1)).toBeUndefined();
    expect(await store.threads.loadState(T1)).toBeUndefined();
    expect(await store.messages.count(T1)).toBe(0);
    expect(await store.runs.load(R1)).toBeUndefined();
    expect(await store.runs.listByTicket(ticket().id)).toEqual([]);
    if (hasQueue(store)) {
      expect((await store.pending.load(T1)).entries).toEqual([]);
      expect(await store.dispatches.list(T1, {})).toEqual([]);
    }
    expect(await store.ledger.list(R1)).toEqual([]);
    expect((await store.events.list({ type: "thread", threadId: T1 }, {})).items).toEqual([]);
    expect((await store.events.list({ type: "run", runId: R1 }, {})).items).toEqual([]);
    for (const run of [R1, R2]) expect(await store.streamCheckpoints.load(run, 0)).toBeUndefined();
    const { bytes: _, ...rows } = await store.stats();
    const counts = Object.values(rows).flatMap((count) => (typeof count === "number" ? count : Object.values(count)));
    expect(counts.filter((count) => count !== 0)).toEqual([]);
  });

  it("the ids of what was deleted are free again", async (world) => {
    const { store } = world;
    await fill(world);
    await store.threads.delete(T1, "detach");
    await fill(world);
    expect(await store.messages.count(T1)).toBe(2);
    expect(await store.runs.load(R1)).toMatchObject({ ordinal: 1 });
    expect((await store.events.list({ type: "thread", threadId: T1 }, {})).items).toHaveLength(1);
    await store.threads.delete(T1, "detach");
    await store.commit(write(runs.running()));
    expect(await store.runs.listByTicket(ticket().id)).toEqual([]);
    if (hasQueue(store)) expect(await store.dispatches.interrupt(T1)).toMatchObject({ superseded: [] });
  });
}

/** Threads a to e, each a millisecond later than the one before; c and d at the same time. */
async function five({ store, clock }: World): Promise<void> {
  await store.threads.create({ id: T1 });
  for (const [index, id] of ["a", "b", "d", "c", "e"].entries()) {
    if (index !== 3) clock.advance(1);
    await store.threads.create({
      id: threadId(id),
      resourceId: index % 2 === 0 ? "even" : "odd",
      ...(index > 1 ? { parentThreadId: T1 } : {}),
    });
  }
}

function listing(it: StoreTest): void {
  it("lists stand by last activity, the newest first, then by id", async (world) => {
    await five(world);
    expect(idsOf((await world.store.threads.list({})).items)).toEqual(["e", "c", "d", "b", "a", T1]);
    world.clock.advance(1);
    await world.store.commit({ threadId: threadId("a"), runId: R1 });
    expect(idsOf((await world.store.threads.list({ limit: 2 })).items)).toEqual(["a", "e"]);
  });

  it("lists are read page by page, each thread once", async (world) => {
    await five(world);
    const seen: ThreadId[] = [];
    let after: ThreadPosition | undefined;
    do {
      const page = await world.store.threads.list({ limit: 2, ...(after === undefined ? {} : { after }) });
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map((thread) => thread.id));
      after = page.next;
    } while (after !== undefined);
    expect(seen).toEqual(["e", "c", "d", "b", "a", T1]);
  });

  it("filters by resource, parent and root apply before paging, and counts are exact", async (world) => {
    await five(world);
    const { threads } = world.store;
    const children = { lineage: { type: "child-of", threadId: T1 } } as const;
    const filters = [
      [{ resourceId: "even" }, ["e", "d", "a"]],
      [{ lineage: { type: "root" } }, ["b", "a", T1]],
      [children, ["e", "c", "d"]],
      [{ ...children, resourceId: "odd" }, ["c"]],
      [{ resourceId: "nobody" }, []],
    ] as const;
    for (const [filter, expected] of filters) {
      const page = await threads.list({ ...filter, limit: 1 });
      expect(idsOf(page.items)).toEqual(expected.slice(0, 1));
      expect(page.next === undefined).toBe(expected.length <= 1);
      expect(idsOf((await threads.list(filter)).items)).toEqual(expected);
      expect(await threads.count(filter)).toBe(expected.length);
    }
  });
}

function bounds(it: StoreTest): void {
  it("resource ids with wildcards of a database match only themselves", async ({ store }) => {
    const hostile = ["%", "_", "a%", "a_", "\\", "'", '"', "a'--", "ab"];
    for (const [index, resourceId] of hostile.entries()) await store.threads.create({ id: threadId(`t${index}`), resourceId });
    for (const [index, resourceId] of hostile.entries()) {
      expect(idsOf((await store.threads.list({ resourceId })).items)).toEqual([`t${index}`]);
      expect(await store.threads.count({ resourceId })).toBe(1);
    }
  });

  it("server-and-durability 69: a limit of 0 acts as 1 and one of 999 as 200", async ({ store }) => {
    for (let index = 0; index < 201; index++) await store.threads.create({ id: threadId(`t${index}`) });
    expect((await store.threads.list({ limit: 0 })).items).toHaveLength(1);
    expect((await store.threads.list({})).items).toHaveLength(50);
    expect((await store.threads.list({ limit: 999 })).items).toHaveLength(200);
    expect(await store.threads.count({})).toBe(201);
  });
}

function unknownThreads(it: StoreTest): void {
  it("an unknown thread reads as absent or empty", async ({ store }) => {
    expect(await store.threads.load(T1)).toBeUndefined();
    expect(await store.threads.loadState(T1)).toBeUndefined();
    expect(await store.threads.loadHead(T1)).toBeUndefined();
    expect(await store.messages.list(T1, {})).toEqual({ items: [] });
    expect(await store.messages.count(T1)).toBe(0);
    expect(await store.messages.load(T1, [user("m1").id])).toEqual([]);
    expect(await store.runs.list({ threadId: T1 })).toEqual({ items: [] });
    expect(await store.runs.loadLatest(T1)).toBeUndefined();
    if (hasQueue(store)) {
      expect((await store.pending.load(T1)).entries).toEqual([]);
      expect(await store.dispatches.list(T1, {})).toEqual([]);
    }
    expect(await store.events.list({ type: "thread", threadId: T1 }, {})).toEqual({ items: [] });
  });

  it("a thread with neither messages nor runs has no head", async ({ store }) => {
    await store.threads.create({ id: T1 });
    expect(await store.threads.loadHead(T1)).toBeUndefined();
    await store.commit(write(runs.created()));
    expect(await store.threads.loadHead(T1)).toMatchObject({ messages: [], messageCount: 0, openRun: { runId: R1 } });
  });
}

import { scopeId, type ThreadId } from "@awaken/contract";
import { type EventCursor, type EventScope, type EventStart, eventCursor, type StoredEvent } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, draft, event, keyed, R1, R2, runs, T1, T2, user } from "./records.ts";
import { failure, type StoreTest, take, type World } from "./world.ts";

export function eventConformance(it: StoreTest): void {
  describe("events", () => {
    theLog(it);
    cursors(it);
    retention(it);
    idempotency(it);
    expectations(it);
    subscriptions(it);
    gaps(it);
    liveStreams(it);
  });
}

const thread: EventScope = { type: "thread", threadId: T1 };
const run: EventScope = { type: "run", runId: R1 };
const kindsOf = (events: readonly StoredEvent[]): readonly string[] => events.map((each) => each.kind);
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => event("n", { payload: { n: from + index } }));
const numbersOf = (events: readonly StoredEvent[]): readonly unknown[] => events.map(({ payload: { n } }) => n);

function theLog(it: StoreTest): void {
  it("stand in the order of their appends, in each scope that they name", async ({ store, clock }) => {
    const { threadId: _, ...runOnly } = draft("c");
    const { runId: __, ...threadOnly } = draft("b");
    const stored = await store.events.append([
      event("a"),
      { draft: { ...threadOnly, threadId: T1 } },
      { draft: { ...runOnly, runId: R1 } },
    ]);
    clock.advance(1);
    await store.events.append([{ draft: { ...draft("d"), runId: R2 } }]);
    expect(kindsOf((await store.events.list(thread, {})).items)).toEqual(["a", "b", "d"]);
    expect(kindsOf((await store.events.list(run, {})).items)).toEqual(["a", "c"]);
    expect(kindsOf((await store.events.list({ type: "run", runId: R2 }, {})).items)).toEqual(["d"]);
    expect((await store.events.list({ type: "thread", threadId: T2 }, {})).items).toEqual([]);
    expect((await store.events.list(thread, {})).items[0]).toEqual({ ...stored[0], createdAt: clock.now() - 1 });
    expect(stored[0]).toMatchObject(draft("a"));
    expect(stored.map((each) => Object.keys(each.cursors).sort())).toEqual([["run", "thread"], ["thread"], ["run"]]);
    expect(new Set(stored.map((each) => each.eventId)).size).toBe(3);
  });

  it("an append is all or nothing, and a bad draft is refused", async ({ store }) => {
    await store.events.append([keyed("seen", "k", { payload: { n: 1 } })]);
    await failure(store.events.append([event("a"), keyed("seen", "k", { payload: { n: 2 } }), event("b")]), "idempotency_conflict");
    await failure(store.events.append([event("a"), event(" ")]), "storage_validation");
    const nowhere = JSON.parse(JSON.stringify({ ...draft("a"), threadId: undefined, runId: undefined }));
    await failure(store.events.append([{ draft: nowhere }]), "storage_validation");
    expect(kindsOf((await store.events.list(thread, {})).items)).toEqual(["seen"]);
    expect(await store.events.append([])).toEqual([]);
  });

  it("visibilities filter before paging", async ({ store }) => {
    const kinds = ["public", "internal", "public", "audit", "sensitive", "public"] as const;
    await store.events.append(kinds.map((visibility, index) => event(`e${index}`, { visibility })));
    const first = await store.events.list(thread, { visibilities: ["public"], limit: 2 });
    expect(kindsOf(first.items)).toEqual(["e0", "e2"]);
    const rest = await store.events.list(thread, { visibilities: ["public"], limit: 2, after: first.next ?? expect.fail() });
    expect(kindsOf(rest.items)).toEqual(["e5"]);
    expect(rest.next).toBeUndefined();
    expect(kindsOf((await store.events.list(thread, { visibilities: ["audit", "sensitive"] })).items)).toEqual(["e3", "e4"]);
    expect((await store.events.list(thread, { visibilities: [] })).items).toEqual([]);
  });
}

function cursors(it: StoreTest): void {
  it("are read page by page, strictly after a cursor", async ({ store }) => {
    await store.events.append(numbered(1, 7));
    for (const scope of [thread, run]) {
      const seen: StoredEvent[] = [];
      let after: EventCursor | undefined;
      do {
        const page = await store.events.list(scope, { limit: 3, ...(after === undefined ? {} : { after }) });
        seen.push(...page.items);
        after = page.next;
      } while (after !== undefined);
      expect(numbersOf(seen)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      const last = seen.at(-1)?.cursors[scope.type];
      expect(await store.events.loadHead(scope)).toBe(last);
      expect(await store.events.list(scope, { after: last ?? expect.fail() })).toEqual({ items: [] });
    }
    expect(await store.events.loadHead({ type: "run", runId: R2 })).toBeUndefined();
  });

  it("server-and-durability 57: an unknown cursor, and one of another scope, is cursor_expired", async ({ store }) => {
    const [first] = await store.events.append([event("a"), event("b")]);
    await store.events.append([
      { draft: { ...draft("x"), threadId: T2, runId: R2 } },
      { draft: { ...draft("y"), threadId: T2, runId: R2 } },
    ]);
    const other = scopeId("other");
    await store.scoped(other).events.append([event("a"), event("b")]);
    const [elsewhere] = (await store.events.list({ type: "thread", threadId: T2 }, {})).items;
    const [tenant] = (await store.scoped(other).events.list(thread, {})).items;
    const wrong = [
      "nonsense",
      "1",
      "0",
      "-1",
      "9999999",
      "%",
      first?.cursors.run,
      elsewhere?.cursors.thread,
      elsewhere?.cursors.run,
      tenant?.cursors.thread,
    ];
    for (const cursor of wrong) {
      const after = eventCursor(cursor ?? expect.fail());
      await failure(store.events.list(thread, { after }), "cursor_expired");
      await failure(
        store.events.subscribe(thread, { type: "after", cursor: after }, { signal: AbortSignal.timeout(5_000) }),
        "cursor_expired",
      );
    }
    expect(() => eventCursor(" ")).toThrow(expect.objectContaining({ code: "invalid_id" }));
    expect(kindsOf((await store.events.list(thread, { after: first?.cursors.thread ?? expect.fail() })).items)).toEqual(["b"]);
  });
}

function retention(it: StoreTest): void {
  it("server-and-durability 63: a retention sweep removes old events and their cursors answer cursor_expired", async ({ store, clock }) => {
    const [old] = await store.events.append([keyed("old", "k"), event("old too")]);
    clock.advance(1_000);
    const [young] = await store.events.append([event("young"), event("younger")]);
    clock.advance(500);
    expect(await store.sweep({ eventsMs: 1_500 })).toMatchObject({ events: 0 });
    expect(await store.sweep({ eventsMs: 1_000 })).toMatchObject({ events: 2 });
    for (const scope of [thread, run]) {
      expect(kindsOf((await store.events.list(scope, {})).items)).toEqual(["young", "younger"]);
      await failure(store.events.list(scope, { after: old?.cursors[scope.type] ?? expect.fail() }), "cursor_expired");
      expect(kindsOf((await store.events.list(scope, { after: young?.cursors[scope.type] ?? expect.fail() })).items)).toEqual(["younger"]);
    }
    // The key went with its event.
    const [again] = await store.events.append([keyed("old", "k", { payload: { other: true } })]);
    expect(again?.payload).toEqual({ other: true });
    expect(await store.sweep({})).toMatchObject({ events: 0 });
  });
}

function idempotency(it: StoreTest): void {
  it("server-and-durability 58: an idempotent append with another origin returns the first event; with another payload it conflicts", async ({
    store,
    clock,
  }) => {
    const [first] = await store.events.append([keyed("a", "k", { payload: { x: 1, y: [2] } })]);
    clock.advance(5);
    const [again] = await store.events.append([keyed("a", "k", { payload: { y: [2], x: 1 }, origin: "mailbox" })]);
    expect(again).toEqual(first);
    for (const other of [
      keyed("a", "k", { payload: { x: 2, y: [2] } }),
      keyed("b", "k", { payload: { x: 1, y: [2] } }),
      keyed("a", "k", { payload: { x: 1, y: [2] }, visibility: "audit" }),
      keyed("a", "k", { payload: { x: 1, y: [2] }, causationId: "c" }),
    ]) {
      await failure(store.events.append([other]), "idempotency_conflict");
    }
    expect((await store.events.list(thread, {})).items).toEqual([first]);
  });

  it("a key belongs to its writer, and works in a commit and within one append", async ({ store }) => {
    const other = { draft: draft("b"), idempotency: { writerId: "w2", key: "k" } };
    const [a, b, again] = await store.events.append([keyed("a", "k"), other, keyed("a", "k")]);
    expect(again).toEqual(a);
    expect(b?.eventId).not.toBe(a?.eventId);
    const commit = await store.commit(append(0, [user("m1")], { events: [keyed("a", "k"), event("c")] }));
    expect(commit.events[0]).toEqual(a);
    expect(kindsOf((await store.events.list(thread, {})).items)).toEqual(["a", "b", "c"]);
  });

  it("of concurrent appends with one key there is one event", async ({ store, peer }) => {
    const appends = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? store : peer).events.append([keyed("a", "k")]));
    const ids = (await Promise.all(appends)).map(([each]) => each?.eventId);
    expect(new Set(ids).size).toBe(1);
    expect((await store.events.list(thread, {})).items).toHaveLength(1);
  });
}

function expectations(it: StoreTest): void {
  it("an expected cursor must be the last one of its scope, null for an empty one", async ({ store }) => {
    const [first] = await store.events.append([{ ...event("a"), expected: { thread: null, run: null } }]);
    const at = first?.cursors ?? expect.fail();
    await failure(store.events.append([{ ...event("b"), expected: { thread: null } }]), "version_conflict");
    const [second] = await store.events.append([{ ...event("b"), expected: { thread: at.thread ?? null, run: at.run ?? null } }]);
    await failure(store.events.append([event("c"), { ...event("d"), expected: { run: second?.cursors.run ?? null } }]), "version_conflict");
    await failure(store.events.append([{ ...event("d"), expected: { run: at.run ?? null } }]), "version_conflict");
    expect(kindsOf((await store.events.list(thread, {})).items)).toEqual(["a", "b"]);
  });
}

/** Subscribes for as long as the test wants to read. */
async function subscribe(
  { store }: World,
  from: EventStart,
): Promise<{ readonly events: AsyncIterable<StoredEvent>; readonly leave: AbortController }> {
  const leave = new AbortController();
  return { events: await store.events.subscribe(thread, from, { signal: leave.signal }), leave };
}

function subscriptions(it: StoreTest): void {
  it("a subscription gives stored events, then live ones, from wherever it starts", async (world) => {
    const { store, peer } = world;
    const stored = await store.events.append(numbered(1, 3));
    const cursor = stored[1]?.cursors.thread ?? expect.fail();
    const starts: readonly (readonly [EventStart, readonly number[]])[] = [
      [{ type: "start" }, [1, 2, 3, 4, 5]],
      [{ type: "after", cursor }, [3, 4, 5]],
      [{ type: "now" }, [4, 5]],
    ];
    const readers = await Promise.all(
      starts.map(async ([from, expected]) => ({ expected, events: (await subscribe(world, from)).events })),
    );
    const reading = readers.map(({ events, expected }) => take(events, expected.length));
    await peer.events.append(numbered(4, 4));
    await peer.commit({ threadId: T1, runId: R1, events: numbered(5, 5) });
    for (const [index, { expected }] of readers.entries()) expect(numbersOf((await reading[index]) ?? [])).toEqual(expected);
  });

  it("a subscription to a thread or run that nobody has written to gets its first event", async ({ store }) => {
    const events = await store.events.subscribe({ type: "run", runId: R2 }, { type: "start" }, { signal: AbortSignal.timeout(20_000) });
    const reading = take(events, 1);
    await store.events.append([event("elsewhere"), { draft: { ...draft("here"), runId: R2 } }]);
    expect(kindsOf(await reading)).toEqual(["here"]);
  });

  it("a subscription ends with its signal, before, while and after it waits", async (world) => {
    const { events, leave } = await subscribe(world, { type: "start" });
    const reading = take(events, 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    leave.abort();
    expect(await reading).toEqual([]);
    await world.store.events.append([event("a")]);
    const late = await world.store.events.subscribe(thread, { type: "start" }, { signal: AbortSignal.abort() });
    expect(await take(late, 1)).toEqual([]);
  });

  it("a reader that retention overtook gets cursor_expired", async (world) => {
    const { store, clock } = world;
    await store.events.append(numbered(1, 2));
    const { events } = await subscribe(world, { type: "start" });
    const iterator = events[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ payload: { n: 1 } });
    // Far enough that no reader holds all of it in hand.
    for (let from = 3; from < 1_500; from += 100) await store.events.append(numbered(from, from + 99));
    clock.advance(1_000);
    await store.sweep({ eventsMs: 10 });
    await store.events.append([event("fresh")]);
    const drain = async () => {
      while (!(await iterator.next()).done);
    };
    await failure(drain(), "cursor_expired");
  });
}

/** A run may have events on other threads than its own: those go with their thread. */
function gaps(it: StoreTest): void {
  it("a reader of a run goes on behind what a deleted thread took out of the middle of its log", async ({ store }) => {
    const { signal } = new AbortController();
    const told = (n: number, threadId: ThreadId) => ({ draft: { ...draft("n", { payload: { n } }), threadId, runId: R1 } });
    await store.commit(append(0, [user("m1")], { run: runs.done(), events: [told(1, T1)] }));
    await store.threads.create({ id: T2 });
    const iterator = (await store.events.subscribe(run, { type: "start" }, { signal }))[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ payload: { n: 1 } });
    await store.events.append([told(2, T2), told(3, T2), told(4, T1)]);
    await store.threads.delete(T2, "reject");
    expect((await iterator.next()).value).toMatchObject({ payload: { n: 4 } });
    expect(numbersOf(await take(await store.events.subscribe(run, { type: "start" }, { signal }), 2))).toEqual([1, 4]);
    expect(numbersOf((await store.events.list(run, {})).items)).toEqual([1, 4]);
    const next = iterator.next();
    await store.events.append([told(5, T1)]);
    expect((await next).value).toMatchObject({ payload: { n: 5 } });
  });
}

function liveStreams(it: StoreTest): void {
  it("server-and-durability 56: a subscription from now under concurrent appends yields each event at most once and misses none", async (world) => {
    const { store, peer } = world;
    const total = 300;
    const writing = (async () => {
      for (let n = 1; n <= total; n++) await (n % 2 === 0 ? store : peer).events.append(numbered(n, n));
    })();
    const readers = Array.from({ length: 5 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 3));
      const { events, leave } = await subscribe(world, { type: "now" });
      const seen: unknown[] = [];
      const isLast = async () => {
        await writing;
        // Whoever came after the last event has nothing to wait for.
        setTimeout(() => leave.abort(), 2_000);
      };
      void isLast();
      for await (const each of events) if (seen.push(each.payload["n"]) && each.payload["n"] === total) break;
      return seen;
    });
    await writing;
    for (const seen of await Promise.all(readers)) {
      const first = Number(seen[0] ?? total + 1);
      expect(seen).toEqual(Array.from({ length: total - first + 1 }, (_, index) => first + index));
    }
  }, 60_000);

  it("a subscriber sees events of commits that stay, and of no other one", async (world) => {
    const { store } = world;
    const { events } = await subscribe(world, { type: "now" });
    const reading = take(events, 2);
    await store.commit(append(0, [user("m1")], { run: runs.running(), events: [event("first")] }));
    await failure(store.commit(append(0, [user("m2")], { events: [event("lost")] })), "message_version_conflict");
    const undone = store.transaction(async (ports) => {
      await ports.events.append([event("undone")]);
      throw new Error("never mind");
    });
    await expect(undone).rejects.toThrow("never mind");
    await store.commit(append(1, [user("m2")], { events: [event("second")] }));
    const seen = await reading;
    expect(kindsOf(seen)).toEqual(["first", "second"]);
    expect((await store.runs.load(R1))?.status).toBe("running");
  });
}

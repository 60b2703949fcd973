import { messageId, toolCallId } from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { effectKey, hasQueue, profileOwner, type QueueStore, type Store } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, checkpoint, claim, dispatch, event, ofQueue, R1, runs, state, T1, takeNext, user, WORKER } from "./records.ts";
import { type ConformanceHooks, failure, type StoredRow, type StoreTest } from "./world.ts";

/** Nothing is tested for engines whose rows cannot be reached from outside. */
export function corruptionConformance<S extends Store>(it: StoreTest<S>, { corrupt }: ConformanceHooks<S>): void {
  if (corrupt === undefined) return;
  describe("damaged rows", () => {
    statuses(it, corrupt);
    everyRow(it, corrupt);
  });
}

type Corrupt<S extends Store> = NonNullable<ConformanceHooks<S>["corrupt"]>;

const KEY = effectKey(R1, messageId("m1"), toolCallId("c1"));
const DISPATCH = dispatch("d1").dispatchId;

async function fill(store: Store): Promise<StoredRow[]> {
  const { events } = await store.commit(
    append(0, [user("m1")], {
      run: runs.running(),
      threadState: state(1),
      ledger: { claims: [claim("c1")], outcomes: [] },
      events: [event("e")],
      ...ofQueue(store, { pending: { append: [{ message: user("p1") }] }, dispatch: { type: "enqueue", dispatch: dispatch("d1") } }),
    }),
  );
  await store.streamCheckpoints.put(checkpoint());
  await store.wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "x1" });
  await store.profiles.put(profileOwner("a"), "k", 1);
  await store.config.put({ namespace: "agents", id: "a", record: userRecord({}) });
  const queued: StoredRow[] = [
    { type: "pending", threadId: T1, pendingId: messageId("p1") },
    { type: "dispatch", dispatchId: DISPATCH },
  ];
  return [
    ...(hasQueue(store) ? queued : []),
    { type: "thread", threadId: T1 },
    { type: "thread-state", threadId: T1 },
    { type: "message", threadId: T1, seq: 1 },
    { type: "run", runId: R1 },
    { type: "event", eventId: events[0]?.eventId ?? expect.fail() },
    { type: "ledger", idempotencyKey: KEY },
    { type: "stream-checkpoint", runId: R1, step: 0 },
    { type: "wish", wishId: "x1" },
    { type: "profile", owner: profileOwner("a"), key: "k" },
    { type: "config", namespace: "agents", id: "a" },
  ];
}

/** A read that has to meet the row, and what its error has to name. */
function readOf(store: Store, row: StoredRow): readonly [() => Promise<unknown>, string] {
  switch (row.type) {
    case "thread":
      return [() => store.threads.load(T1), "t1"];
    case "thread-state":
      return [() => store.threads.loadState(T1), "t1"];
    case "message":
      return [() => store.messages.list(T1, {}), "t1"];
    case "pending":
      return [async () => hasQueue(store) && store.pending.load(T1), "p1"];
    case "run":
      return [() => store.runs.load(R1), "r1"];
    case "dispatch":
      return [async () => hasQueue(store) && store.dispatches.load(DISPATCH), "d1"];
    case "event":
      return [() => store.events.list({ type: "thread", threadId: T1 }, {}), row.eventId];
    case "ledger":
      return [() => store.ledger.list(R1), KEY];
    case "stream-checkpoint":
      return [() => store.streamCheckpoints.load(R1, 0), "r1"];
    case "wish":
      return [() => store.wishes.listOpen(R1), "x1"];
    case "profile":
      return [() => store.profiles.load(profileOwner("a"), "k"), "k"];
    case "config":
      return [() => store.config.load({ namespace: "agents", id: "a" }), "agents/a"];
  }
}

function statuses<S extends Store>(it: StoreTest<S>, corrupt: Corrupt<S>): void {
  it("server-and-durability 5: a stored waiting run without waiting is storage_corrupt on every read, and names the run", async ({
    store,
  }) => {
    await fill(store);
    await corrupt(store, { type: "run", runId: R1 }, { status: "waiting" });
    const reads = [() => store.runs.load(R1), () => store.runs.list({}), () => store.runs.loadLatest(T1), () => store.threads.loadHead(T1)];
    for (const read of reads) expect((await failure(read(), "storage_corrupt")).message).toContain("'r1'");
  });

  it("a message that is damaged spoils the head, not the threads beside it", async ({ store }) => {
    await fill(store);
    await corrupt(store, { type: "message", threadId: T1, seq: 1 }, { message: { id: "m1", role: "root" } });
    const { message } = await failure(store.threads.loadHead(T1), "storage_corrupt");
    expect(message).toMatch(/t1.*1/);
    await failure(store.messages.load(T1, [messageId("m1")]), "storage_corrupt");
    expect(await store.threads.load(T1)).toBeDefined();
  });
}

function everyRow<S extends Store>(it: StoreTest<S>, corrupt: Corrupt<S>): void {
  it("an unknown field in any row is storage_corrupt and names the row", async ({ store }) => {
    for (const row of await fill(store)) {
      await corrupt(store, row, { surprise: true });
      const [read, name] = readOf(store, row);
      expect((await failure(read(), "storage_corrupt")).message, row.type).toContain(name);
    }
  });

  it("a row of a newer version is storage_too_new", async ({ store }) => {
    for (const row of await fill(store)) {
      await corrupt(store, row, { schemaVersion: 99 });
      await failure(readOf(store, row)[0](), "storage_too_new");
    }
  });
}

export function queueCorruptionConformance<S extends QueueStore>(it: StoreTest<S>, { corrupt }: ConformanceHooks<S>): void {
  if (corrupt === undefined) return;
  it("server-and-durability 7: a queued dispatch with a claim token cannot be loaded", async ({ store }) => {
    await fill(store);
    await corrupt(store, { type: "dispatch", dispatchId: DISPATCH }, { claimToken: "tok" });
    expect((await failure(store.dispatches.load(DISPATCH), "storage_corrupt")).message).toContain("'d1'");
    await failure(store.dispatches.list(T1, {}), "storage_corrupt");
    await failure(takeNext(store, T1, WORKER), "storage_corrupt");
  });
}

import { dispatchId } from "@awaken/contract";
import type { CommitResult, Fence, LedgerOutcome, NewWish, ScopedQueueStore, ThreadCommit } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { ACKED, append, claim, dispatch, event, R1, R2, rewind, runs, T1, user, WORKER, write } from "../conformance/records.ts";
import { decide } from "../conformance/wishes.ts";
import { take } from "../conformance/world.ts";
import { codeOf, type Pair, usePairs } from "./test-pair.ts";

const pairs = usePairs();

const CLAIMED = { type: "enqueue-claimed", dispatch: dispatch("d1"), claim: { consumer: "node-1", leaseMs: 30_000 } } as const;

const fenceOf = (result: CommitResult): Fence => ({
  dispatchId: dispatchId("d1"),
  claimToken: result.dispatch?.status === "claimed" ? result.dispatch.claimToken : "none",
});

/** A run that holds its thread and has claimed an effect. */
async function begin(store: ScopedQueueStore): Promise<Fence> {
  const first = append(0, [user("m1")], { run: runs.running({ updatedAt: 2 }), isNewRun: true, dispatch: CLAIMED, events: [event("a")] });
  const fence = fenceOf(await store.commit(first));
  const ledger = { claims: [claim("c1")], outcomes: [] };
  await store.commit(append(1, [user("m2")], { run: runs.running({ updatedAt: 3 }), fence, ledger, events: [event("b")] }));
  return fence;
}

const step = (fence: Fence, more: Partial<ThreadCommit> = {}): ThreadCommit =>
  append(2, [user("m3")], { run: runs.running({ updatedAt: 4 }), fence, events: [event("c")], ...more });
const outcome = (data: string): LedgerOutcome => ({
  ...{ idempotencyKey: claim("c1").idempotencyKey, attempt: 1 },
  result: { type: "success", data },
});
const settling = (fence: Fence): ThreadCommit =>
  step(fence, {
    ledger: { claims: [], outcomes: [outcome("x")] },
  });
const last = (fence: Fence): ThreadCommit => step(fence, { run: runs.done({ updatedAt: 4 }), dispatch: { type: "ack", result: ACKED } });
const parking = (fence: Fence): ThreadCommit =>
  step(fence, {
    run: runs.waiting({ updatedAt: 4 }),
    dispatch: { type: "ack", result: { type: "waiting", termination: { type: "suspended" } } },
  });

/** Ids that the store makes are others each time. */
const named = (id: string | undefined) => (id === undefined || id === R1 || id === R2 ? id : "made");
const seqOf = (cursor: string | undefined) => cursor?.split(".")[0];

/** What a commit said, without what is another each time. */
function told({ messageCount, events, hasWishes, hasPending, next, run, dispatch: moved }: CommitResult) {
  const cursors = events.map((each) => [seqOf(each.cursors.thread), seqOf(each.cursors.run)]);
  return {
    messageCount,
    cursors,
    hasWishes,
    hasPending,
    next: named(next?.runId),
    run: run && [run.status, run.ordinal],
    moved: moved?.status,
  };
}

/** What came of a commit, and what is on record then. */
async function outcomeOf(store: ScopedQueueStore, commit: ThreadCommit) {
  const outcome = await codeOf(store.commit(commit).then(told));
  const { items } = await store.messages.list(T1, {});
  const thread = await store.threads.load(T1);
  const queue = await store.dispatches.list(T1, {});
  return {
    outcome,
    messages: items.map(({ message }) => message.id),
    thread: [thread?.latestRun?.id, thread?.openRunId, thread?.metadata.title],
    run: (await store.runs.load(R1))?.status,
    queue: queue.map(({ status, runId, epoch }) => [status, named(runId), epoch]).toSorted(),
    events: (await store.events.list({ type: "thread", threadId: T1 }, {})).items.map(({ kind }) => kind),
    pending: (await store.pending.load(T1)).entries.map(({ pendingId }) => pendingId),
    effects: (await store.ledger.list(R1)).map(({ status }) => status),
  };
}

const cancelWish: NewWish = { type: "cancel", wishId: "w1", threadId: T1, runId: R1 };

interface Scene {
  readonly others: (pair: Pair, fence: Fence) => Promise<unknown>;
  readonly commit: (fence: Fence) => ThreadCommit;
}

/** What another process, or this one by another way, does between two commits of a run. */
const SCENES: Readonly<Record<string, Scene>> = {
  "appends messages": { others: ({ peer }, fence) => peer.commit({ ...append(2, [user("x")]), fence }), commit: step },
  "rewinds the thread": { others: ({ peer }, fence) => peer.commit({ ...append(2, [rewind("x", 2)]), fence }), commit: step },
  "ends the run": {
    others: ({ peer }, fence) => peer.commit(write(runs.done({ updatedAt: 3.5 }), { fence })),
    commit: (fence) => write(runs.running({ updatedAt: 4 }), { fence }),
  },
  "appends events": { others: ({ peer }) => peer.events.append([event("x"), event("y")]), commit: step },
  "renames the thread": { others: ({ peer }) => peer.threads.update(T1, { title: "named" }), commit: step },
  "raises the epoch": { others: ({ peer }) => peer.dispatches.interrupt(T1), commit: step },
  "raises the epoch before the end": { others: ({ peer }) => peer.dispatches.interrupt(T1), commit: last },
  "gives the dispatch back": { others: ({ peer }, fence) => peer.dispatches.release(fence), commit: step },
  "gives the dispatch back, and claims it": {
    others: async ({ peer }, fence) => {
      await peer.dispatches.release(fence);
      await peer.dispatches.claim(T1, WORKER);
    },
    commit: last,
  },
  "renews the lease": { others: ({ peer }, fence) => peer.dispatches.extendLease(fence, 60_000), commit: last },
  "holds the thread, and no fence is shown": {
    others: async () => {},
    commit: () => append(2, [user("m3")], { run: runs.running({ updatedAt: 4 }) }),
  },
  "wants the run cancelled": { others: ({ peer }) => peer.wishes.append(cancelWish), commit: step },
  "wants it cancelled while it ends": { others: ({ peer }) => peer.wishes.append(cancelWish), commit: last },
  "decides while it parks": { others: ({ peer }) => peer.wishes.append(decide("w1")), commit: parking },
  "sends a message while it ends": {
    others: ({ peer }) => peer.pending.append(T1, [{ message: user("p1"), deliveryMode: { boundary: "new-run" } }]),
    commit: last,
  },
  "puts another run into the queue": {
    others: ({ peer }) => peer.dispatches.enqueue(dispatch("d2", { runId: R2 })),
    commit: last,
  },
  "settles the effect": {
    others: ({ peer }, fence) =>
      peer.commit({
        threadId: T1,
        runId: R1,
        fence,
        ledger: { claims: [], outcomes: [outcome("other")] },
      }),
    commit: settling,
  },
  "does nothing, and the effect is settled": { others: async () => {}, commit: settling },
  "does nothing, and the run ends": { others: async () => {}, commit: last },
  "does nothing, and the run parks": { others: async () => {}, commit: parking },
};

const firstOf = (): ThreadCommit =>
  append(0, [user("m1")], { run: runs.running({ updatedAt: 2 }), isNewRun: true, dispatch: CLAIMED, events: [event("a")] });
const forLater = (): ThreadCommit =>
  write(runs.created(), {
    isNewRun: true,
    pending: { append: [{ message: user("m1"), deliveryMode: { boundary: "new-run" } }] },
    dispatch: { type: "enqueue", dispatch: dispatch("d1", { dedupeKey: "k" }) },
  });
const waits = { message: user("x"), deliveryMode: { boundary: "new-run" } } as const;

/** What somebody does to a thread that was not there when this process looked. */
const NEW_SCENES: Readonly<Record<string, (peer: ScopedQueueStore) => Promise<unknown>>> = {
  "does nothing": async () => {},
  "makes the thread": (peer) => peer.threads.create({ id: T1, title: "made" }),
  "appends messages": (peer) => peer.commit(append(0, [user("m1")])),
  "appends events": (peer) => peer.events.append([event("x")]),
  "begins the run": (peer) => peer.commit(firstOf()),
  "puts the run into the queue": (peer) => peer.commit(forLater()),
  "puts another run with the same key into the queue": (peer) => peer.dispatches.enqueue(dispatch("d2", { runId: R2, dedupeKey: "k" })),
  "raises the epoch": (peer) => peer.dispatches.interrupt(T1),
  "sends a message": (peer) => peer.pending.append(T1, [waits]),
  "sends the same message": (peer) => peer.pending.append(T1, [{ ...waits, message: user("m1") }]),
};

async function playNew(name: string, commit: ThreadCommit, way: "remembers" | "asks") {
  const { store, peer } = pairs.pair(way);
  expect(await store.threads.loadHead(T1)).toBeUndefined();
  await NEW_SCENES[name]?.(peer);
  return outcomeOf(store, commit);
}

async function play(name: string, way: "remembers" | "asks") {
  const scene = SCENES[name];
  if (scene === undefined) throw new Error(name);
  const pair = pairs.pair(way);
  const fence = await begin(pair.store);
  await scene.others(pair, fence);
  return outcomeOf(pair.store, scene.commit(fence));
}

describe("a commit that is planned from what the process wrote last", () => {
  test("takes four statements that are sent together", async () => {
    const { sent } = pairs.line;
    const { store } = pairs.pair();
    const fence = await begin(store);
    sent.length = 0;
    await store.commit(settling(fence));
    expect(sent.map((text) => text.split(" ")[0])).toEqual(["BEGIN", "SELECT", "WITH", "COMMIT"]);
    sent.length = 0;
    await store.commit(append(3, [user("m4")], { run: runs.done({ updatedAt: 5 }), fence, dispatch: { type: "ack", result: ACKED } }));
    expect(sent).toHaveLength(4);
    sent.length = 0;
    const again = { ...CLAIMED, dispatch: dispatch("d2", { runId: R2 }) };
    const next = runs.running({ runId: R2, updatedAt: 6 });
    await store.commit({ ...append(4, [user("m5")]), runId: R2, run: next, isNewRun: true, dispatch: again });
    expect(sent).toHaveLength(4);
    expect((await store.runs.load(R2))?.ordinal).toBe(2);
  });

  test.each(Object.keys(SCENES))("does what one that asks would do when somebody %s", async (name) => {
    const remembered = await play(name, "remembers");
    expect(remembered).toEqual(await play(name, "asks"));
  });

  test("begins a thread that was not there with four statements", async () => {
    for (const commit of [firstOf(), forLater()]) {
      const { sent } = pairs.line;
      const { store } = pairs.pair();
      await store.threads.loadHead(T1);
      sent.length = 0;
      await store.commit(commit);
      expect(sent.map((text) => text.split(" ")[0])).toEqual(["BEGIN", "SELECT", "WITH", "COMMIT"]);
    }
  });

  test.each(Object.keys(NEW_SCENES))("does the same on a thread that was not there, when somebody %s", async (name) => {
    expect(await playNew(name, firstOf(), "remembers")).toEqual(await playNew(name, firstOf(), "asks"));
    expect(await playNew(name, forLater(), "remembers")).toEqual(await playNew(name, forLater(), "asks"));
  });

  test("tells those who wait for work when another run is queued behind the one that ends", async () => {
    const { store, peer } = pairs.pair();
    const fence = await begin(store);
    await peer.dispatches.enqueue(dispatch("d2", { runId: R2 }));
    const heard = take(pairs.stores().memory.queue.hints({ signal: AbortSignal.timeout(120_000) }), 1);
    await store.commit(last(fence));
    expect(await heard).toMatchObject([{ type: "enqueued", threadId: T1 }]);
  });

  test("is not believed when the thread is another one under the same id", async () => {
    const { store, peer } = pairs.pair();
    await store.commit(append(0, [user("m1")], { events: [event("a")] }));
    await peer.threads.delete(T1, "reject");
    await peer.commit(append(0, [user("x1")], { events: [event("x")] }));
    await store.commit(append(1, [user("m2")], { events: [event("b")] }));
    expect((await store.messages.list(T1, {})).items.map(({ message }) => message.id)).toEqual(["x1", "m2"]);
    expect((await store.events.list({ type: "thread", threadId: T1 }, {})).items.map(({ kind }) => kind)).toEqual(["x", "b"]);
  });

  test("a message that is in the log already is refused as ever", async () => {
    const { store } = pairs.pair();
    const fence = await begin(store);
    await expect(store.commit(step(fence, { messageDelta: { messages: [user("m1")], expectedMessageCount: 2 } }))).rejects.toMatchObject({
      code: "storage_validation",
    });
    expect((await store.commit(step(fence))).messageCount).toBe(3);
  });

  test("what a transaction wrote and took back is not remembered", async () => {
    const { store } = pairs.pair();
    const fence = await begin(store);
    const undone = store.transaction(async (ports) => {
      await ports.commit(step(fence));
      throw new Error("no");
    });
    await expect(undone).rejects.toThrow("no");
    expect(await store.commit(step(fence, { messageDelta: { messages: [user("m9")], expectedMessageCount: 2 } }))).toMatchObject({
      messageCount: 3,
    });
    expect((await store.messages.list(T1, {})).items.at(-1)?.message.id).toBe("m9");
  });
});

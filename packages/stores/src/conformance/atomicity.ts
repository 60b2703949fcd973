import { AwakenError, type ErrorCode, messageId, type ThreadId } from "@awaken/contract";
import { eventCursor, hasQueue, type Store, type ThreadCommit } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import {
  append,
  assistant,
  checkpoint,
  claim,
  dispatch,
  event,
  keyed,
  ofQueue,
  R1,
  R2,
  result,
  runs,
  state,
  summary,
  T1,
  user,
} from "./records.ts";
import { failure, type StoreTest } from "./world.ts";

export function atomicityConformance(it: StoreTest): void {
  describe("all or nothing", () => {
    conflicts(it);
    everyPart(it);
  });
  describe("many writers", () => {
    snapshots(it);
    concurrency(it);
  });
}

/** All that can be read of the thread, for comparison. */
async function dump(store: Store, threadId: ThreadId = T1): Promise<unknown> {
  return {
    thread: await store.threads.load(threadId),
    state: await store.threads.loadState(threadId),
    messages: await store.messages.list(threadId, {}),
    runs: await store.runs.list({}),
    events: await store.events.list({ type: "thread", threadId }, {}),
    ledger: await store.ledger.list(R1),
    queue: hasQueue(store) && [await store.pending.load(threadId), await store.dispatches.list(threadId, {})],
    checkpoint: await store.streamCheckpoints.load(R1, 0),
  };
}

function conflicts(it: StoreTest): void {
  it("server-and-durability 12: an event idempotency conflict in position 2 leaves no message, no run, no event 1", async ({ store }) => {
    await store.events.append([keyed("seen", "k", { payload: { n: 1 } })]);
    const before = await dump(store);
    const events = [keyed("one", "k1"), keyed("seen", "k", { payload: { n: 2 } })];
    await failure(store.commit(append(0, [user("m1")], { run: runs.running(), events })), "idempotency_conflict");
    expect(await dump(store)).toEqual(before);
    expect(await store.runs.load(R1)).toBeUndefined();
    expect((await store.events.list({ type: "run", runId: R1 }, {})).items.map((each) => each.kind)).toEqual(["seen"]);
    // Not even the key of event 1 is taken.
    const [one] = await store.events.append([keyed("one", "k1", { payload: { again: true } })]);
    expect(one?.payload).toEqual({ again: true });
    expect((await store.events.list({ type: "run", runId: R1 }, {})).items).toHaveLength(2);
  });

  it("a summary that was not committed hides nothing", async ({ store }) => {
    await store.commit(append(0, [user("m1"), user("m2")]));
    const events = [{ ...event("late"), expected: { thread: eventCursor("none") } }];
    await failure(store.commit(append(2, [summary("s", { fromSeq: 1, toSeq: 2 })], { events })), "version_conflict");
    await store.commit(append(2, [user("m3")]));
    expect((await store.threads.loadHead(T1))?.messages.map((row) => row.message.id)).toEqual(["m1", "m2", "m3"]);
  });

  it("server-and-durability 13: after a version conflict the retry carries the same staged events exactly once", async ({ store }) => {
    await store.commit(append(0, [user("foreign")]));
    const events = [keyed("run-started", "k1"), event("step-end")];
    await failure(store.commit(append(0, [user("m1")], { run: runs.running(), events })), "message_version_conflict");
    expect(await store.events.list({ type: "thread", threadId: T1 }, {})).toEqual({ items: [] });
    await store.commit(append(1, [user("m1")], { run: runs.running(), events }));
    const { items } = await store.events.list({ type: "thread", threadId: T1 }, {});
    expect(items.map((each) => each.kind)).toEqual(["run-started", "step-end"]);
  });
}

function everyPart(it: StoreTest): void {
  it("whichever part fails, nothing of the commit stays", async ({ store }) => {
    await store.commit(
      append(0, [user("m1")], { run: runs.done({ runId: R2, createdAt: 2, updatedAt: 2 }), runId: R2, threadState: state(1) }),
    );
    await store.commit(append(1, [assistant("m2", ["c1"])], { run: runs.running(), ledger: { claims: [claim("c1")], outcomes: [] } }));
    if (hasQueue(store)) {
      await store.pending.append(T1, [{ message: user("p1") }]);
      await store.dispatches.enqueue(dispatch("d1", { dedupeKey: "k" }));
    }
    await store.streamCheckpoints.put(checkpoint());
    const before = await dump(store);
    const good = append(2, [user("m3"), result("m4", "c1")], {
      run: runs.running({ updatedAt: 5, steps: 1 }),
      threadState: state(2, { a: 1 }),
      events: [event("step-end")],
      ...ofQueue(store, { pending: { append: [{ message: user("p2") }] } }),
      landedStep: 0,
    });
    const consume = { boundary: "new-run", entries: [{ pendingId: messageId("m3"), revision: 1 }] } as const;
    const bad: [ErrorCode, Partial<ThreadCommit>][] = [
      ["message_version_conflict", { messageDelta: { messages: [user("m3")], expectedMessageCount: 1 } }],
      ["storage_already_exists", { isNewRun: true }],
      ["illegal_transition", { run: runs.running({ createdAt: 77, updatedAt: 5 }) }],
      ["version_conflict", { ledger: { claims: [claim("c1")], outcomes: [] } }],
      [
        "storage_not_found",
        { ledger: { claims: [], outcomes: [{ idempotencyKey: "none", attempt: 1, result: { type: "success", data: 1 } }] } },
      ],
      ["version_conflict", { events: [event("one"), { ...event("two"), expected: { thread: null } }] }],
    ];
    const badInQueue: [ErrorCode, Partial<ThreadCommit>][] = [
      ["storage_already_exists", { pending: { append: [{ message: user("p1") }] } }],
      ["pending_selection_conflict", { pending: { consume } }],
      ["storage_already_exists", { dispatch: { type: "enqueue", dispatch: dispatch("d2", { dedupeKey: "k" }) } }],
      ["fence_lost", { fence: { dispatchId: dispatch("d1").dispatchId, claimToken: "none" } }],
    ];
    for (const [code, part] of hasQueue(store) ? [...bad, ...badInQueue] : bad) {
      await failure(store.commit({ ...good, ...part }), code);
      expect(await dump(store), code).toEqual(before);
    }
    expect(await store.commit(good)).toMatchObject({ messageCount: 4 });
  });
}

function snapshots(it: StoreTest): void {
  it("server-and-durability 15: a head never mixes messages of one commit with the run of another under load", async ({ store, peer }) => {
    const steps = 150;
    const write = async () => {
      for (let step = 1; step <= steps; step++) {
        await store.commit(
          append(step - 1, [user(`m${step}`)], { run: runs.running({ steps: step, updatedAt: step }), threadState: state(step) }),
        );
      }
    };
    let isWriting = true;
    const read = async (from: Store): Promise<number> => {
      let count = 0;
      while (isWriting) {
        const seen = await from.threads.loadHead(T1);
        if (seen !== undefined) {
          const { messageCount, messages, latestRun, openRun, state: restored, thread } = seen;
          expect([messages.length, latestRun?.steps, openRun?.steps, restored?.revision, thread.latestRun?.updatedAt]).toEqual(
            Array.from({ length: 5 }, () => messageCount),
          );
        }
        count++;
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      return count;
    };
    const readers = [read(peer), read(store)];
    await write().finally(() => {
      isWriting = false;
    });
    for (const count of await Promise.all(readers)) expect(count).toBeGreaterThan(0);
  });
}

/** Appends, and rebuilds the guard whenever somebody else was faster. */
async function appendAnyhow(store: Store, id: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const expected = await store.messages.count(T1);
    try {
      await store.commit(append(expected, [user(id)]));
      return attempt;
    } catch (thrown) {
      if (!AwakenError.is(thrown) || thrown.code !== "message_version_conflict") throw thrown;
      expect(thrown.details).toMatchObject({ threadId: T1, expected });
    }
  }
}

function concurrency(it: StoreTest): void {
  it("core-execution 60: a foreign message committed concurrently survives together with ours, in log order", async ({ store, peer }) => {
    await store.commit(append(0, [user("m1")]));
    const seen = await store.messages.count(T1);
    await peer.commit(append(seen, [user("foreign")]));
    const conflict = await failure(store.commit(append(seen, [user("ours")])), "message_version_conflict");
    expect(conflict.details).toEqual({ threadId: T1, expected: 1, actual: 2 });
    await store.commit(append(2, [user("ours")]));
    expect((await store.messages.list(T1, {})).items.map((row) => [row.seq, row.message.id])).toEqual([
      [1, "m1"],
      [2, "foreign"],
      [3, "ours"],
    ]);
  });

  it("core-execution 61: eight consecutive conflicts are each reported with expected and actual, and write nothing", async ({ store }) => {
    await store.commit(append(0, [user("m1")]));
    for (let attempt = 1; attempt <= 8; attempt++) {
      await store.commit(append(attempt, [user(`foreign${attempt}`)]));
      const conflict = await failure(store.commit(append(attempt, [user("ours")], { run: runs.running() })), "message_version_conflict");
      expect(conflict.details).toEqual({ threadId: T1, expected: attempt, actual: attempt + 1 });
    }
    expect(await store.messages.load(T1, [messageId("ours")])).toEqual([]);
    expect(await store.runs.load(R1)).toBeUndefined();
  });

  it("two writers with 1,000 conflicting commits: none lost, none doubled, order by seq", async ({ store, peer }) => {
    const writer = async (from: Store, name: string) => {
      for (let index = 0; index < 500; index++) await appendAnyhow(from, `${name}${index}`);
    };
    await Promise.all([writer(store, "a"), writer(peer, "b")]);
    const ids: string[] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = await store.messages.list(T1, { afterSeq: after, limit: 200 });
      for (const row of page.items) expect(ids.push(row.message.id)).toBe(row.seq);
      after = page.next;
    }
    expect(ids).toHaveLength(1_000);
    for (const name of ["a", "b"]) {
      const own = ids.filter((id) => id.startsWith(name));
      expect(own).toEqual(Array.from({ length: 500 }, (_, index) => `${name}${index}`));
    }
  }, 120_000);

  it("commits of many threads at once do not disturb each other", async ({ store, peer }) => {
    const work = Array.from({ length: 20 }, async (_, index) => {
      const id = index % 2 === 0 ? store : peer;
      const commit = (count: number): ThreadCommit =>
        JSON.parse(JSON.stringify({ ...append(count, [user(`m${count}`)]), threadId: `t-${index}` }));
      for (let count = 0; count < 10; count++) expect(await id.commit(commit(count))).toMatchObject({ messageCount: count + 1 });
    });
    await Promise.all(work);
    expect(await store.stats()).toMatchObject({ threads: 20, messages: 200 });
  });
}

import { hasQueue, type ThreadCommit } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, checkpoint, dispatch, event, R1, R2, runs, state, T1, T2, user, write } from "./records.ts";
import { failure, type StoreTest } from "./world.ts";

export function commitConformance(it: StoreTest): void {
  describe("the commit", () => {
    guards(it);
    stateSplit(it);
    pieces(it);
  });
}

function guards(it: StoreTest): void {
  it("server-and-durability 9: a non-empty delta without expectedMessageCount is refused before any I/O", async ({ store }) => {
    for (const expectedMessageCount of [undefined, null, -1, 0.5, "0"]) {
      const hostile: ThreadCommit = JSON.parse(
        JSON.stringify({ ...append(0, [user("m1")]), messageDelta: { messages: [user("m1")], expectedMessageCount } }),
      );
      await failure(store.commit(hostile), "storage_validation");
    }
    expect(await store.threads.load(T1)).toBeUndefined();
  });

  it("core-execution 62: re-submitting a committed id, or a delta without an expected count, is a validation error", async ({ store }) => {
    await store.commit(append(0, [user("m1")]));
    await failure(store.commit(append(1, [user("m1")])), "storage_validation");
    const hostile: ThreadCommit = JSON.parse(JSON.stringify({ threadId: T1, runId: R1, messageDelta: { messages: [user("m2")] } }));
    await failure(store.commit(hostile), "storage_validation");
    expect(await store.messages.count(T1)).toBe(1);
  });

  it("server-and-durability 10: of two writers with the same guard one wins, the other gets expected and actual counts", async ({
    store,
    peer,
  }) => {
    await store.commit(append(0, [user("m1")]));
    const writers = [store.commit(append(1, [user("a1"), user("a2")])), peer.commit(append(1, [user("b1"), user("b2")]))];
    const outcomes = await Promise.allSettled(writers);
    const lost = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(lost).toHaveLength(1);
    expect(lost[0]?.reason).toMatchObject({ code: "message_version_conflict", details: { threadId: T1, expected: 1, actual: 3 } });
    const ids = (await store.messages.list(T1, {})).items.map((row) => row.message.id);
    expect([
      ["m1", "a1", "a2"],
      ["m1", "b1", "b2"],
    ]).toContainEqual(ids);
  });

  it("a guard is compared even when the delta is empty, and a commit without a delta needs none", async ({ store }) => {
    await store.commit(append(0, [user("m1")]));
    await failure(store.commit(append(0, [])), "message_version_conflict");
    expect(await store.commit(append(1, []))).toMatchObject({ messageCount: 1 });
    expect(await store.commit({ threadId: T1, runId: R1, threadState: state(1) })).toMatchObject({ messageCount: 1 });
  });

  it("ids must not be blank, and records must belong to the thread and run of the commit", async ({ store }) => {
    const hostile: readonly ThreadCommit[] = [
      JSON.parse('{"threadId":" ","runId":"r1"}'),
      JSON.parse('{"threadId":"t1","runId":""}'),
      { threadId: T2, runId: R1, run: runs.running() },
      { threadId: T1, runId: R2, run: runs.running() },
      { threadId: T2, runId: R1, events: [event("x")] },
    ];
    for (const commit of hostile) await failure(store.commit(commit), "storage_validation");
    const { threads, runs: counts, events } = await store.stats();
    expect([threads, counts.running, events]).toEqual([0, 0, 0]);
  });
}

function stateSplit(it: StoreTest): void {
  it("server-and-durability 18: thread state written by run A is restored in run B; run state of A is not overwritten by a commit without one", async ({
    store,
  }) => {
    await store.commit(write(runs.running({ state: state(3, { "run.key": 1 }) }), { threadState: state(3, { "thread.key": "a" }) }));
    await store.commit(append(0, [user("m1")]));
    expect(await store.threads.loadState(T1)).toEqual(state(3, { "thread.key": "a" }));
    expect((await store.runs.load(R1))?.state).toEqual(state(3, { "run.key": 1 }));
    await store.commit(write(runs.done({ state: state(4), updatedAt: 2 })));
    await store.commit(write(runs.running({ runId: R2, createdAt: 3, updatedAt: 3 })));
    expect(await store.threads.loadHead(T1)).toMatchObject({ state: state(3, { "thread.key": "a" }), latestRun: { runId: R2 } });
    expect(await store.runs.load(R1)).toMatchObject({ state: state(4) });
    expect(Object.keys((await store.runs.load(R2)) ?? {})).not.toContain("state");
  });

  it("core-execution 63: thread keys are only in the thread state and survive into the next run", async ({ store }) => {
    await store.commit(write(runs.done({ state: state(1, { run: 1 }) }), { threadState: state(1, { thread: 1 }) }));
    const next = await store.commit(write(runs.running({ runId: R2, createdAt: 2, updatedAt: 2, state: state(0) })));
    expect(next.run?.state?.extensions).toEqual({});
    expect((await store.threads.loadHead(T1))?.state?.extensions).toEqual({ thread: 1 });
  });
}

function pieces(it: StoreTest): void {
  it("gives back the run with its ordinal and the events, as they can be read", async ({ store }) => {
    const given = await store.commit(
      append(0, [user("m1")], {
        run: runs.created(),
        isNewRun: true,
        events: [event("run-queued"), event("message-committed", { visibility: "internal" })],
      }),
    );
    expect(given.run).toEqual({ ...runs.created(), ordinal: 1 });
    expect(await store.runs.load(R1)).toEqual(given.run);
    expect(given.events.map((each) => each.kind)).toEqual(["run-queued", "message-committed"]);
    expect((await store.events.list({ type: "run", runId: R1 }, {})).items).toEqual(given.events);
  });

  it("a store without a queue refuses what only a queue can keep", async ({ store }) => {
    if (hasQueue(store)) return;
    const parts: readonly Partial<ThreadCommit>[] = [
      { fence: { dispatchId: dispatch("d1").dispatchId, claimToken: "tok" } },
      { dispatch: { type: "enqueue", dispatch: dispatch("d1") } },
      { pending: { append: [{ message: user("p1") }] } },
    ];
    for (const part of parts) await failure(store.commit(append(0, [user("m1")], part)), "capability_mismatch");
    expect(await store.threads.load(T1)).toBeUndefined();
  });

  it("a new run must not exist, in this thread or in another", async ({ store }) => {
    await store.commit(write(runs.created(), { isNewRun: true }));
    await failure(store.commit(write(runs.created(), { isNewRun: true })), "storage_already_exists");
    await failure(store.commit(write(runs.created({ threadId: T2 }), { isNewRun: true })), "storage_already_exists");
    await failure(store.commit(write(runs.created({ threadId: T2 }))), "illegal_transition");
    expect(await store.threads.load(T2)).toBeUndefined();
  });

  it("the commit that lands a step deletes the stream checkpoint of that step", async ({ store }) => {
    for (const step of [0, 1]) await store.streamCheckpoints.put(checkpoint({ step }));
    await store.commit({ threadId: T1, runId: R1, landedStep: 0 });
    expect(await store.streamCheckpoints.load(R1, 0)).toBeUndefined();
    expect(await store.streamCheckpoints.load(R1, 1)).toBeDefined();
    await store.commit({ threadId: T1, runId: R1, landedStep: 7 });
  });
}

import { AwakenError, dispatchId, messageId, messageText, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { createRuntime } from "../create-runtime.ts";
import type { Clock } from "../stream/clock.ts";
import { type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { text } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");
const DOWN = new AwakenError("storage_io", "the network is down");

const open = (store: QueueStore, turns: readonly ScriptStep[], clock: Clock, agents: readonly string[] = ["default"], workers = true) =>
  createRuntime({
    clock,
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: Object.fromEntries(agents.map((id) => [id, { model: "fast" }])),
    log: { warn() {}, error() {} },
    store,
    workers,
  });

const said = async (store: QueueStore) =>
  (await store.messages.list(T, {})).items.flatMap(({ message }) => (message.role === "user" ? [messageText(message)] : []));

const dispatchOf = (store: QueueStore, runId: string) => store.dispatches.load(dispatchId(runId));

/** Whoever claims the dispatch of this run is told that the store is away. */
const failingFor = (store: QueueStore, runId: string): QueueStore => ({
  ...store,
  dispatches: {
    ...store.dispatches,
    async claim(id, request) {
      const claim = await store.dispatches.claim(id, request);
      return claim?.dispatch.runId === runId ? { ...claim, records: DOWN } : claim;
    },
  },
});

/** Lets little time pass: what was put back for a run that failed is not due in any of these. */
async function whileTimePasses<T>(clock: FakeClock, work: Promise<T>, stepMs = 1): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  work.then(over, over);
  for (let step = 0; step < 200 && !isOver; step++) {
    await clock.advance(stepMs);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(isOver).toBe(true);
  return work;
}

describe.each(STORES)("runs of a thread that had to wait for one in front of them, on %s", (_, make) => {
  test("keep their places when that one is gone, whoever comes", async () => {
    const clock = fakeClock(1_000);
    await using store = make(clock.now);
    await using talker = open(store, [], clock, [], false);
    const first = await talker.start({ agent: "default", thread: "t", input: "first" });
    const second = await talker.start({ agent: "default", thread: "t", input: "second" });
    const third = await talker.start({ agent: "default", thread: "t", input: "third" });
    await using worker = open(failingFor(store, first.runId), [text("2"), text("3"), text("4")], clock);
    for (const run of [first, second, third])
      await expect.poll(async () => (await dispatchOf(store, run.runId))?.availableAt).toBeGreaterThan(clock.now());
    await talker.cancel(first.runId);
    const fourth = await talker.start({ agent: "default", thread: "t", input: "fourth" });
    const ended = await whileTimePasses(clock, Promise.all([second, third, fourth].map(({ runId }) => worker.wait(runId))));
    expect(ended.map(({ status }) => status)).toEqual(["done", "done", "done"]);
    expect(await said(store)).toEqual(["second", "third", "fourth"]);
    expect(await store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, "dead-letter": 0 });
  });

  test("begin when that one is cancelled, also when nobody comes", async () => {
    const clock = fakeClock(1_000);
    await using store = make(clock.now);
    await using talker = open(store, [], clock, [], false);
    const first = await talker.start({ agent: "default", thread: "t", input: "first" });
    const second = await talker.start({ agent: "default", thread: "t", input: "second" });
    const third = await talker.start({ agent: "default", thread: "t", input: "third" });
    await using worker = open(failingFor(store, first.runId), [text("2"), text("3")], clock);
    for (const run of [first, second, third])
      await expect.poll(async () => (await dispatchOf(store, run.runId))?.availableAt).toBeGreaterThan(clock.now());
    await talker.cancel(first.runId);
    const ended = await whileTimePasses(clock, Promise.all([second, third].map(({ runId }) => worker.wait(runId))));
    expect(ended.map(({ status }) => status)).toEqual(["done", "done"]);
    expect(await said(store)).toEqual(["second", "third"]);
  });

  test("begin when that one, which had begun and was to be tried again, is cancelled, also when nobody comes", async () => {
    const clock = fakeClock(1_000);
    await using store = make(clock.now);
    await using talker = open(store, [], clock, [], false);
    const first = await talker.start({ agent: "default", thread: "t", input: "first" });
    const second = await talker.start({ agent: "default", thread: "t", input: "second" });
    let commits = 0;
    const commit: QueueStore["commit"] = (asked) => {
      if (asked.runId === first.runId && asked.run?.status === "done" && ++commits < 2) return Promise.reject(DOWN);
      return store.commit(asked);
    };
    await using worker = open({ ...store, commit }, [text("1"), text("2")], clock);
    await expect.poll(async () => (await store.runs.load(first.runId))?.status).toBe("running");
    for (const run of [first, second])
      await expect.poll(async () => (await dispatchOf(store, run.runId))?.availableAt).toBeGreaterThan(clock.now());
    await talker.cancel(first.runId);
    expect(await whileTimePasses(clock, worker.wait(second.runId))).toMatchObject({ status: "done", text: "2" });
    expect(await store.runs.load(first.runId)).toMatchObject({ outcome: { termination: { type: "cancelled" } } });
  });

  test("keep their places behind one that is tried again, whoever comes", async () => {
    const clock = fakeClock(1_000);
    await using store = make(clock.now);
    await using talker = open(store, [], clock, [], false);
    const first = await talker.start({ agent: "default", thread: "t", input: "first" });
    const second = await talker.start({ agent: "default", thread: "t", input: "second" });
    let isFailing = true;
    const failing = failingFor(store, first.runId);
    const claim: QueueStore["dispatches"]["claim"] = (...args) => (isFailing ? failing : store).dispatches.claim(...args);
    await using worker = open({ ...store, dispatches: { ...store.dispatches, claim } }, [text("1"), text("2"), text("3")], clock);
    for (const run of [first, second])
      await expect.poll(async () => (await dispatchOf(store, run.runId))?.availableAt).toBeGreaterThan(clock.now());
    const third = await talker.start({ agent: "default", thread: "t", input: "third" });
    await expect.poll(async () => (await dispatchOf(store, third.runId))?.availableAt).toBeGreaterThan(clock.now());
    isFailing = false;
    // The worker may not have begun to wait yet.
    const ended = await whileTimePasses(clock, Promise.all([first, second, third].map(({ runId }) => worker.wait(runId))), 100);
    expect(ended.map(({ status }) => status)).toEqual(["done", "done", "done"]);
    expect(await said(store)).toEqual(["first", "second", "third"]);
  });

  test("hold nobody back when nobody here knows their agent", async () => {
    const clock = fakeClock(1_000);
    await using store = make(clock.now);
    await using talker = open(store, [], clock, [], false);
    const first = await talker.start({ agent: "elsewhere", thread: "t", input: "first" });
    await using worker = open(store, [text("2"), text("3")], clock);
    await expect.poll(async () => (await dispatchOf(store, first.runId))?.availableAt).toBeGreaterThan(clock.now());
    const second = await talker.start({ agent: "default", thread: "t", input: "second" });
    expect(await whileTimePasses(clock, worker.wait(second.runId))).toMatchObject({ status: "done", text: "2" });
    // Another process, which has never heard of it, finds that out once.
    await worker.close();
    await using other = open(store, [text("3")], clock);
    const third = await talker.start({ agent: "default", thread: "t", input: "third" });
    expect(await whileTimePasses(clock, other.wait(third.runId))).toMatchObject({ status: "done", text: "3" });
    expect(await said(store)).toEqual(["second", "third"]);
  });

  test("hold nobody back either when their first try failed", async () => {
    const clock = fakeClock(1_000);
    await using store = make(clock.now);
    await using talker = open(store, [], clock, [], false);
    const first = await talker.start({ agent: "elsewhere", thread: "t", input: "first" });
    let isFailing = true;
    const failing = failingFor(store, first.runId);
    const claim: QueueStore["dispatches"]["claim"] = (...args) => (isFailing ? failing : store).dispatches.claim(...args);
    await using worker = open({ ...store, dispatches: { ...store.dispatches, claim } }, [text("2")], clock);
    await expect.poll(async () => (await dispatchOf(store, first.runId))?.attemptCount).toBe(1);
    isFailing = false;
    // The worker may not have begun to wait for it yet.
    const laterBy = async () => {
      await clock.advance(300);
      return ((await dispatchOf(store, first.runId))?.availableAt ?? 0) - clock.now();
    };
    await expect.poll(laterBy).toBeGreaterThan(3_000);
    const second = await talker.start({ agent: "default", thread: "t", input: "second" });
    expect(await whileTimePasses(clock, worker.wait(second.runId))).toMatchObject({ status: "done", text: "2" });
  });

  test("wait behind a barrier until their time, and keep their places when it is gone", async () => {
    const clock = fakeClock(1_000);
    await using store = make(clock.now);
    await using talker = open(store, [], clock, [], false);
    await talker.start({ agent: "elsewhere", thread: "t2", runId: "other", input: "x" });
    const [gate] = await store.pending.append(T, [
      {
        message: { id: messageId("late"), role: "user", content: [{ type: "text", text: "late" }] },
        deliveryMode: { boundary: "next-step", barrier: true, targetRunId: runId("other"), fallbackToNewRun: false },
      },
    ]);
    const runs = [];
    for (const input of ["one", "two", "three"]) runs.push(await talker.start({ agent: "default", thread: "t", input }));
    let claims = 0;
    const claim: QueueStore["dispatches"]["claim"] = async (...args) => {
      const claimed = await store.dispatches.claim(...args);
      if (claimed !== undefined) claims += 1;
      return claimed;
    };
    const turns = Array.from({ length: 4 }, () => text("x"));
    await using worker = open({ ...store, dispatches: { ...store.dispatches, claim } }, turns, clock);
    for (const run of runs) await expect.poll(async () => (await dispatchOf(store, run.runId))?.availableAt).toBeGreaterThan(clock.now());
    const before = claims;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(claims).toBe(before);
    await store.pending.retract(T, messageId("late"), gate?.revision ?? expect.fail("it waits"));
    const last = await talker.start({ agent: "default", thread: "t", input: "last" });
    await whileTimePasses(clock, Promise.all([...runs, last].map((run) => worker.wait(run.runId))));
    expect(await said(store)).toEqual(["one", "two", "three", "last"]);
  });

  test("are not those that were queued for later: these begin at their time, and not before", async () => {
    const clock = fakeClock(1_000);
    await using store = make(clock.now);
    await using talker = open(store, [], clock, [], false);
    const later = await talker.start({ agent: "default", thread: "t", input: "tomorrow" });
    await store.dispatches.cancel(dispatchId(later.runId));
    const availableAt = clock.now() + 86_400_000;
    await store.dispatches.enqueue({ dispatchId: dispatchId("sched"), threadId: T, runId: runId(later.runId), availableAt });
    await using worker = open(store, [text("1"), text("2")], clock);
    const second = await talker.start({ agent: "default", thread: "t", input: "now" });
    expect(await worker.wait(second.runId)).toMatchObject({ status: "done" });
    expect(await said(store)).toEqual(["now"]);
    await clock.advance(86_400_000);
    expect(await whileTimePasses(clock, worker.wait(later.runId), 1_000)).toMatchObject({ status: "done" });
  });
});

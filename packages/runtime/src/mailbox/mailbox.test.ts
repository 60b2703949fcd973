import { runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";

import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./open.test-support.ts";
import { AT_ONCE, STORES } from "./stores.test-support.ts";

const T = threadId("t");

/** A tool that lasts until it is told to end. */
function lasting() {
  const began = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const tool = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: async (_, { signal }) => {
      began.resolve();
      await Promise.race([end.promise, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      return "slept";
    },
  });
  return { tool, began: began.promise, release: end.resolve };
}

const statuses = async (store: QueueStore, thread = T) => (await store.dispatches.list(thread, {})).map(({ status }) => status);

describe.each(STORES)("the thread that a run holds, on %s", (_, make) => {
  test("server-and-durability 80: a foreground run with a store costs no commit more than before the mailbox", async () => {
    await using store = make();
    const counted: string[] = [];
    const commit: QueueStore["commit"] = (given) => {
      counted.push(`${given.dispatch?.type ?? "-"} ${given.fence === undefined ? "unfenced" : "fenced"}`);
      return store.commit(given);
    };
    await using runtime = open({ ...store, commit }, [text("hi")], { workers: false });
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ status: "done" });
    expect(counted).toEqual(["enqueue-claimed unfenced", "ack fenced"]);
    expect(await statuses(store)).toEqual(["acked"]);
  });

  test("server-and-durability 22: while a run of one process is at work, nobody else begins one on its thread", async () => {
    await using store = make();
    const { tool, began, release } = lasting();
    await using a = open(store, [toolCall("slow", {}), text("first")], { tools: [tool] });
    await using b = open(store, [text("second"), text("third")], { tools: [tool] });
    const run = a.stream({ thread: "t", input: "x" });
    await began;
    await expect(b.run({ thread: "t", input: "y" })).rejects.toMatchObject({ code: "thread_already_running" });
    await expect(b.resume(run.id)).rejects.toMatchObject({ code: "thread_already_running" });
    expect(await store.messages.count(T)).toBe(2);
    release();
    expect(await run.result).toMatchObject({ status: "done", text: "first" });
    expect(await b.run({ thread: "t", input: "y" })).toMatchObject({ status: "done", text: "second" });
  });

  test("a process that is known to be gone loses its thread at once, to a worker and to whoever asks", async () => {
    await using store = make();
    const node = { name: "next", isGone: (name: string) => name === "gone" };
    const gone = { name: "gone", isGone: () => false };
    const one = lasting();
    open(store, [toolCall("slow", {})], { tools: [one.tool], node: gone, workers: false }).stream({ thread: "t", runId: "r1", input: "x" });
    await one.began;
    const two = lasting();
    two.release();
    await using worker = open(store, [text("went on")], { tools: [two.tool], node });
    expect(await worker.wait("r1")).toMatchObject({ status: "done", text: "went on" });
    await worker.close();
    const three = lasting();
    open(store, [toolCall("slow", {})], { tools: [three.tool], node: gone, workers: false }).stream({
      thread: "u",
      runId: "r2",
      input: "x",
    });
    await three.began;
    await using asker = open(store, [text("instead")], { tools: [two.tool], node: { ...node, name: "asker" }, workers: false });
    expect(await asker.run({ thread: "u", input: "something else" })).toMatchObject({ status: "done", text: "instead" });
    expect(await store.runs.load(runId("r2"))).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
  });

  test("server-and-durability 76: cancel of a run that another process executes reaches it, also when the hint is lost", async () => {
    for (const isHintLost of [false, true]) {
      await using store = make();
      const { tool, began } = lasting();
      const clock = fakeClock(1_000);
      const deaf: QueueStore = { ...store, queue: { ...store.queue, hints: async function* () {} } };
      await using a = open(isHintLost ? deaf : store, [toolCall("slow", {}), text("never")], { tools: [tool], clock, workers: false });
      await using b = open(store, [], { workers: false });
      const run = a.stream({ thread: "t", input: "x" });
      await began;
      expect(await b.cancel(isHintLost ? run.id : "t")).toBe(true);
      // At the next renewal of its lease.
      if (isHintLost) await clock.advance(11_000);
      expect(await run.result).toMatchObject({ status: "cancelled" });
      expect(await b.cancel(run.id)).toBe(false);
    }
  });
});

describe.each(STORES)("runs that are started for later, on %s", (_, make) => {
  test("server-and-durability 36: background submits on one thread run one at a time, in order, and none loses its message", async () => {
    await using store = make();
    await using submitter = open(store, [], { workers: false });
    const ids: string[] = [];
    for (const n of [1, 2, 3]) ids.push((await submitter.start({ thread: "t", input: `ask ${n}` })).runId);
    expect(await store.runs.load(runId(ids[2] ?? ""))).toMatchObject({ status: "created", agentId: "default" });
    await using worker = open(store, [text("one"), text("two"), text("three")]);
    const results = await Promise.all(ids.map((id) => worker.wait(id)));
    expect(results.map((result) => result.text)).toEqual(["one", "two", "three"]);
    const { items } = await store.messages.list(T, {});
    expect(items.map(({ message }) => message.content.map((part) => (part.type === "text" ? part.text : "")).join(""))).toEqual([
      ...["ask 1", "one", "ask 2", "two", "ask 3", "three"],
    ]);
    expect((await store.pending.load(T)).entries).toEqual([]);
    expect(await statuses(store)).toEqual(["acked", "acked", "acked"]);
  });

  test("server-and-durability 37: a duplicate dedupe key is refused while open and accepted after that", async () => {
    await using store = make();
    await using runtime = open(store, [text("one"), text("two")], { workers: false });
    await runtime.start({ thread: "t", input: "a", dedupeKey: "k" });
    await expect(runtime.start({ thread: "t", input: "b", dedupeKey: "k" })).rejects.toMatchObject({ code: "storage_already_exists" });
    expect((await store.pending.load(T)).entries).toHaveLength(1);
    await using worker = open(store, [text("one"), text("two")]);
    await expect.poll(() => statuses(store)).toEqual(["acked"]);
    const again = await runtime.start({ thread: "t", input: "b", dedupeKey: "k" });
    expect(await worker.wait(again.runId)).toMatchObject({ status: "done", text: "two" });
  });

  test("server-and-durability 39: cancelling a queued run marks it cancelled, takes its message back, and finds nothing the second time", async () => {
    await using store = make();
    await using runtime = open(store, [text("kept")], { workers: false });
    const { runId: first } = await runtime.start({ thread: "t", input: "gone" });
    const { runId: second } = await runtime.start({ thread: "t", input: "stays" });
    expect(await runtime.cancel(first)).toBe(true);
    expect(await store.runs.load(first)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect(await runtime.cancel(first)).toBe(false);
    await using worker = open(store, [text("kept")]);
    expect(await worker.wait(second)).toMatchObject({ status: "done", text: "kept" });
    expect(await store.messages.count(T)).toBe(2);
  });

  test("server-and-durability 40: a message to a thread with a waiting run continues that run id", async () => {
    await using store = make();
    const guarded = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    await using runtime = open(store, [toolCall("pay", {}), text("never mind")], { tools: [guarded] });
    const first = await runtime.run({ thread: "t", input: "pay" });
    expect(first.status).toBe("waiting");
    const next = await runtime.start({ thread: "t", input: "forget it" });
    expect(next.runId).toBe(first.runId);
    await expect.poll(async () => (await store.runs.load(first.runId))?.status).toBe("done");
    expect(await runtime.wait(first.runId)).toMatchObject({ text: "never mind" });
  });

  test("server-and-durability 31: a dispatch without run and message dead-letters once, and is never asked for again", async () => {
    await using shared = make();
    let claims = 0;
    const claim: QueueStore["dispatches"]["claim"] = (thread, request) => {
      if (thread === T) claims += 1;
      return shared.dispatches.claim(thread, request);
    };
    const store: QueueStore = { ...shared, dispatches: { ...shared.dispatches, claim } };
    await store.dispatches.enqueue({ dispatchId: JSON.parse('"d"'), threadId: T, runId: runId("nobody") });
    const clock = fakeClock(Date.now());
    await using first = open(store, [text("one")], { clock, limits: { storeMs: 3_600_000_000 } });
    await expect.poll(() => statuses(store)).toEqual(["dead-letter"]);
    const row = await store.dispatches.list(T, {});
    expect(row).toMatchObject([{ attemptCount: 1, lastError: expect.stringContaining("nobody") }]);
    expect(claims).toBe(1);
    await first.recover();
    for (let looks = 0; looks < 10; looks++) await clock.advance(30_000);
    await using next = open(store, [text("another")]);
    // One of them has looked at the queue.
    await next.wait((await next.start({ thread: "u", input: "x" })).runId);
    expect(claims).toBe(1);
    expect(await store.dispatches.list(T, {})).toEqual(row);
  });
});

describe.each(AT_ONCE)("an agent that the node does not know, on %s", (_, make) => {
  const inTime = (store: QueueStore, clock: FakeClock, init: Partial<RuntimeInit> = {}) =>
    open(store, [text("known here")], { clock, limits: { storeMs: 3_600_000 }, ...init });

  test("its run is put back for five seconds, uses up no attempt, and is taken by a node that knows it", async () => {
    const clock = fakeClock(1_000);
    await using store = make(() => clock.now());
    await using one = inTime(store, clock);
    const { runId: id } = await one.start({ agent: "elsewhere", thread: "t", input: "x" });
    const waiting = one.wait(id);
    await clock.advance(0);
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "queued", attemptCount: 0, availableAt: 6_000 }]);
    const agents = { elsewhere: { model: "fast" } };
    await using two = inTime(store, clock, { agents });
    await clock.advance(4_990);
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "queued", attemptCount: 0, availableAt: 6_000 }]);
    // The one that does not know it leaves it to the other when it is due again.
    await clock.advance(10);
    expect(await two.wait(id)).toMatchObject({ status: "done", text: "known here" });
    expect(await waiting).toMatchObject({ status: "done", text: "known here" });
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 0 }]);
  });

  test.each(["nobody was there", "the clock of the store is behind"])("its run is given back though it is old: %s", async (why) => {
    const clock = fakeClock(100 * 60_000);
    const behindMs = why === "nobody was there" ? 0 : 60 * 60_000;
    await using store = make(() => clock.now() - behindMs);
    await using caller = inTime(store, clock, { workers: false });
    const { runId: id } = await caller.start({ agent: "elsewhere", thread: "t", input: "x" });
    if (behindMs === 0) await clock.advance(60 * 60_000);
    await using _one = inTime(store, clock);
    await clock.advance(1_000);
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "queued", attemptCount: 0 }]);
    await using two = inTime(store, clock, { agents: { elsewhere: { model: "fast" } } });
    for (let ms = 0; ms < 60_000; ms += 1_000) await clock.advance(1_000);
    expect(await two.wait(id)).toMatchObject({ status: "done", text: "known here" });
  });

  test("its run is a dead letter after ten minutes, and not before; each process says once that it does not know it", async () => {
    const clock = fakeClock(1_000);
    await using store = make(() => clock.now());
    const warned: string[] = [];
    const log = { warn: (message: string) => void warned.push(message), error() {} };
    await using one = inTime(store, clock, { log });
    await using _two = inTime(store, clock, { log });
    const { runId: id } = await one.start({ agent: "elsewhere", thread: "t", input: "x" });
    const waiting = one.wait(id, { timeoutMs: 3_600_000 });
    for (let ms = 0; ms < 600_000; ms += 5_000) await clock.advance(5_000);
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "queued", attemptCount: 0 }]);
    await clock.advance(10_000);
    expect(await waiting).toMatchObject({
      status: "failed",
      error: { code: "dead_letter", message: expect.stringContaining("elsewhere") },
    });
    expect((await one.deadLetters.list()).items).toMatchObject([{ runId: id, error: expect.stringContaining("elsewhere") }]);
    const said = expect.stringMatching(/^a dispatch is left to other nodes: .*elsewhere/);
    expect(warned).toEqual([said, said]);
  });
});

describe.each(AT_ONCE)("time that passes, on %s", (_, make) => {
  test("server-and-durability 78: a cut run is taken up by a worker after its lease and not before; a live one is never taken", async () => {
    const clock = fakeClock(1_000);
    await using store = make(() => clock.now());
    const dead = lasting();
    const alive = lasting();
    // The clock of this one stands still: it renews nothing, as if its process were gone.
    open(store, [toolCall("slow", {})], { tools: [dead.tool], clock: fakeClock(1_000), workers: false }).stream({
      thread: "t",
      runId: "cut",
      input: "x",
    });
    await using living = open(store, [toolCall("slow", {}), text("alive")], { tools: [alive.tool], clock, workers: false });
    const run = living.stream({ thread: "other", input: "x" });
    await Promise.all([dead.began, alive.began]);
    const second = lasting();
    second.release();
    await using worker = open(store, [text("taken up")], { tools: [second.tool], clock });
    await clock.advance(29_000);
    expect(await store.runs.load(runId("cut"))).toMatchObject({ status: "running" });
    await clock.advance(6_000);
    expect(await worker.wait("cut")).toMatchObject({ status: "done", text: "taken up" });
    await clock.advance(120_000);
    alive.release();
    expect(await run.result).toMatchObject({ status: "done", text: "alive" });
    expect(await statuses(store)).toEqual(["acked"]);
  });

  test("server-and-durability 29, 32: what fails is tried again by itself, and after the last try the run is done with an error", async () => {
    const clock = fakeClock(1_000);
    await using store = make(() => clock.now());
    let fails = 0;
    // Whoever takes a run up shows the fence of its dispatch.
    const broken: QueueStore["commit"] = (given) => {
      if (given.fence === undefined || given.dispatch?.type === "dead-letter") return store.commit(given);
      fails += 1;
      return Promise.reject(new Error("the disk is full"));
    };
    await using runtime = open({ ...store, commit: broken }, [], { clock, maxAttempts: 3 });
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    await clock.advance(0);
    await clock.advance(250);
    await clock.advance(250);
    await clock.advance(1_000);
    await expect.poll(async () => (await store.runs.load(id))?.status).toBe("done");
    expect(fails).toBeGreaterThanOrEqual(3);
    expect(await store.runs.load(id)).toMatchObject({
      outcome: { termination: { type: "error", code: "dead_letter", message: expect.stringContaining("the disk is full") } },
    });
    expect(await statuses(store)).toEqual(["dead-letter"]);
  });

  test("server-and-durability 47: close gives back what came from the queue, at the cost of no attempt, and another node ends it", async () => {
    const clock = fakeClock(1_000);
    await using store = make();
    const slow = lasting();
    const first = open(store, [toolCall("slow", {}), text("not here")], { tools: [slow.tool], clock });
    const { runId: id } = await first.start({ thread: "t", input: "x" });
    await slow.began;
    const closed = first.close();
    await clock.advance(30_000);
    await clock.advance(60_000);
    await closed;
    expect((await store.dispatches.list(T, {}))[0]).toMatchObject({ status: "queued", attemptCount: 0 });
    const quick = lasting();
    quick.release();
    await using second = open(store, [text("here")], { tools: [quick.tool] });
    expect(await second.wait(id)).toMatchObject({ status: "done", text: "here" });
  });
});

test("a store without a queue works as before, and start is refused by a code", async () => {
  const { dispatches: _d, pending: _p, queue: _q, ...store } = memoryStore();
  const bare = { ...store, scoped: (id: Parameters<QueueStore["scoped"]>[0]) => store.scoped(id) };
  await using runtime = createRuntime({
    providers: { scripted: scripted([text("hi")]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    store: bare,
  });
  expect(await runtime.run({ input: "x" })).toMatchObject({ status: "done" });
  await expect(runtime.start({ input: "x" })).rejects.toMatchObject({ code: "capability_mismatch" });
});

test("an idle node asks the store once in 30 s and does nothing between", async () => {
  const clock = fakeClock(1_000);
  const store = memoryStore({ clock: () => clock.now() });
  let asked = 0;
  const counted = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== "function" || name === "hints") return value;
        return (...args: unknown[]) => {
          asked += 1;
          return Reflect.apply(value, target, args);
        };
      },
    });
  await using _runtime = open({ ...store, queue: counted(store.queue), dispatches: counted(store.dispatches) }, [], { clock });
  await clock.advance(0);
  const start = asked;
  await clock.advance(10 * 60_000);
  // Who holds claims, what is due, when the next thing is due.
  expect(asked - start).toBeLessThanOrEqual(20 * 3);
});

test.each([{ leaseMs: -1 }, { leaseMs: 0 }, { maxAttempts: 0 }, { concurrency: 1.5 }])("options that cannot be are refused: %o", (init) => {
  expect(() => open(memoryStore(), [], init)).toThrow(expect.objectContaining({ code: "config_validation_failed" }));
});

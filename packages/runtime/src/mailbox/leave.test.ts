import { type AgentEvent, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { failure, stall, text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

function open(store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast", sections: { retry: { maxRetries: 0, maxStreamRetries: 0 } } } },
    log: { warn() {}, error() {} },
    store,
    // Minutes are moved by hand while a real server takes its milliseconds.
    limits: { storeMs: 3_600_000 },
    ...init,
  });
  return Object.assign(runtime, { model });
}

const dispatches = (store: QueueStore) => store.dispatches.list(T, {});

/** A tool that lasts until it is told to end. */
function lasting() {
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tool = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    execute: async () => {
      began.resolve();
      await end.promise;
      return "slept";
    },
  });
  return { tool, began: began.promise, release: end.resolve };
}

describe.each(STORES)("a model that fails a run from the queue, on %s", (_, make) => {
  test("server-and-durability 30: a 401 dead-letters after one attempt, and the run is on record as failed", async () => {
    await using store = make();
    await using runtime = open(store, [failure("unauthorized", "bad key")]);
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "failed", error: { code: "inference_unauthorized" } });
    expect(await dispatches(store)).toMatchObject([
      { status: "dead-letter", attemptCount: 1, lastError: expect.stringContaining("bad key") },
    ]);
    expect(runtime.model.requests).toHaveLength(1);
  });

  test("server-and-durability 30: a 429 is retried, and whoever waits or follows hears of no end before there is one", async () => {
    await using store = make();
    await using runtime = open(store, [toolCall("quick", {}), failure("rate-limited"), failure("overloaded"), text("at last")], {
      tools: [defineTool({ id: "quick", description: "", input: z.object({}), execute: () => "done" })],
    });
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    const ends: string[] = [];
    const retries: AgentEvent[] = [];
    const following = (async () => {
      for await (const event of runtime.attach(id)) {
        if (event.type === "run-end") ends.push(event.termination.type);
        if (event.type === "run-retry") retries.push(event);
      }
    })();
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "at last", steps: 2 });
    await following;
    expect(ends).toEqual(["natural-end"]);
    expect(retries).toMatchObject([
      { attempt: 1, reason: expect.stringContaining("rate-limited") },
      { attempt: 2, reason: expect.stringContaining("overloaded") },
    ]);
    expect(await dispatches(store)).toMatchObject([{ status: "acked", attemptCount: 2 }]);
  });

  test("server-and-durability 28: is tried again after 250, 250, 500 and 1000 ms, and is a dead letter with the fifth try", async () => {
    const clock = fakeClock(10_000);
    await using store = make(() => clock.now());
    const turns = Array.from({ length: 5 }, () => failure("overloaded"));
    await using runtime = open(store, turns, { clock });
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    for (const [nth, delayMs] of [250, 250, 500, 1_000].entries()) {
      await expect.poll(() => dispatches(store)).toMatchObject([{ status: "queued", attemptCount: nth + 1 }]);
      const [{ availableAt, updatedAt } = expect.fail()] = await dispatches(store);
      expect(availableAt - updatedAt).toBe(delayMs);
      await clock.advance(availableAt - 1 - clock.now());
      expect(runtime.model.requests).toHaveLength(nth + 1);
      // The store may have to be asked first when it is due.
      const triesNow = async () => {
        await clock.advance(10);
        return runtime.model.requests.length;
      };
      await expect.poll(triesNow).toBe(nth + 2);
    }
    expect(await runtime.wait(id)).toMatchObject({ status: "failed", error: { code: "inference_overloaded" } });
    expect(await dispatches(store)).toMatchObject([{ status: "dead-letter", attemptCount: 5 }]);
  });

  test("server-and-durability 30: a 429 that does not pass is a dead letter after the last attempt", async () => {
    await using store = make();
    await using runtime = open(store, [failure("rate-limited"), failure("rate-limited", "slow down")], { maxAttempts: 2 });
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "failed", error: { code: "inference_rate_limited" } });
    expect(await dispatches(store)).toMatchObject([
      { status: "dead-letter", attemptCount: 2, lastError: expect.stringContaining("slow down") },
    ]);
  });

  test("whoever waits for his own run is told at once, and there is no dead letter", async () => {
    await using store = make();
    await using runtime = open(store, [failure("rate-limited")]);
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ status: "failed", error: { code: "inference_rate_limited" } });
    expect(await dispatches(store)).toMatchObject([{ status: "acked" }]);
  });
});

describe.each(STORES)("a run that is past its deadline, on %s", (_, make) => {
  test("server-and-durability 79: is put back after the tool that runs, costs no attempt, and ends elsewhere", async () => {
    await using store = make();
    const clock = fakeClock(1_000);
    const slow = lasting();
    await using first = open(store, [toolCall("slow", {})], { tools: [slow.tool], clock, yieldBefore: 6_000 });
    const { runId: id } = await first.start({ thread: "t", input: "x" });
    const waiting = first.wait(id);
    await slow.began;
    await clock.advance(5_000);
    expect(await dispatches(store)).toMatchObject([{ status: "claimed" }]);
    slow.release();
    await expect.poll(() => dispatches(store)).toMatchObject([{ status: "queued", attemptCount: 0 }]);
    // It claims nothing any more, told or not.
    await first.start({ thread: "other", input: "y" });
    await clock.advance(60_000);
    expect(await dispatches(store)).toMatchObject([{ status: "queued", attemptCount: 0 }]);
    await using second = open(store, [text("here"), text("there")], { tools: [slow.tool] });
    expect(await second.wait(id)).toMatchObject({ status: "done", steps: 2 });
    await clock.advance(60_000);
    expect(await waiting).toMatchObject({ status: "done" });
    expect(await store.ledger.list(runId(id), { statuses: ["claimed"] })).toEqual([]);
  });

  test("server-and-durability 79: an answer is cut off, and goes on in mid-sentence elsewhere", async () => {
    await using store = make();
    const clock = fakeClock(1_000);
    const init = { streamCheckpoints: true };
    await using first = open(store, [stall(text("Half ", "of ", "it, ", "and ", "then"), 4)], { clock, yieldBefore: () => 6_000, ...init });
    const run = first.stream({ thread: "t", input: "x" });
    const deltas: string[] = [];
    for await (const event of run) {
      if (event.type === "text-delta") deltas.push(event.delta);
      if (deltas.length === 3) break;
    }
    await clock.advance(5_000);
    await expect.poll(() => dispatches(store)).toMatchObject([{ status: "queued", attemptCount: 0 }]);
    expect(await store.runs.load(run.id)).toMatchObject({ status: "running", steps: 0 });
    await using second = open(store, [text("the rest")], { clock: fakeClock(7_000), ...init });
    const ended = await second.wait(run.id);
    expect(ended).toMatchObject({ status: "done", text: "Half of it, and the rest", steps: 1 });
    await clock.advance(60_000);
    expect(await run.result).toMatchObject({ status: "done", text: "Half of it, and the rest" });
  });

  test("what a process asked for before is not claimed behind it", async () => {
    await using store = make();
    const clock = fakeClock(1_000);
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const listDue: QueueStore["queue"]["listDue"] = async (limit) => {
      const due = await store.queue.listDue(limit);
      if (due.length === 0) return due;
      asked.resolve();
      await answered.promise;
      return due;
    };
    const slow: QueueStore = { ...store, queue: { ...store.queue, listDue } };
    const submitting = open(store, [], { workers: false });
    const { runId: id } = await submitting.start({ thread: "t", input: "x" });
    await using _first = open(slow, [text("too late")], { clock, yieldBefore: () => 6_000 });
    await asked.promise;
    await clock.advance(5_000);
    answered.resolve();
    await new Promise(setImmediate);
    await using second = open(store, [text("in time")]);
    expect(await second.wait(id)).toMatchObject({ status: "done", text: "in time" });
    const { items } = await store.events.list({ type: "run", runId: runId(id) }, {});
    expect(items.map(({ kind }) => kind).filter((kind) => kind.startsWith("run-"))).toEqual(["run-started", "run-finished"]);
    await submitting.close();
  });

  test("one that may be later is asked for again", async () => {
    await using store = make();
    const clock = fakeClock(1_000);
    const slow = lasting();
    let at = 6_000;
    await using runtime = open(store, [toolCall("slow", {}), text("ended here")], { tools: [slow.tool], clock, yieldBefore: () => at });
    const run = runtime.stream({ thread: "t", input: "x" });
    await slow.began;
    at = 60_000;
    await clock.advance(10_000);
    slow.release();
    expect(await run.result).toMatchObject({ status: "done", text: "ended here" });
    expect(await dispatches(store)).toMatchObject([{ status: "acked" }]);
    // A worker may be asking the store at this moment.
    await expect.poll(() => clock.pendingTimers).toBe(0);
  });
});

test.each(STORES)(
  "server-and-durability 47: a process that is closed leaves its runs at their next step, at the cost of no attempt, on %s",
  async (_, make) => {
    await using store = make();
    const clock = fakeClock(1_000);
    const slow = lasting();
    const first = open(store, [toolCall("slow", {}), text("not here")], { tools: [slow.tool], clock });
    const { runId: id } = await first.start({ thread: "t", input: "x" });
    await slow.began;
    const closed = first.close();
    slow.release();
    await closed;
    expect(first.model.requests).toHaveLength(1);
    expect(await dispatches(store)).toMatchObject([{ status: "queued", attemptCount: 0 }]);
    expect(await store.runs.load(id)).toMatchObject({ status: "running", steps: 1 });
    await using second = open(store, [text("here")], { tools: [slow.tool] });
    expect(await second.wait(id)).toMatchObject({ status: "done", text: "here", steps: 2 });
  },
);

test.each([{ yieldBefore: Number.NaN }, { yieldBefore: JSON.parse('"soon"') }])("a deadline that is none is refused: %o", (init) => {
  expect(() => open(memoryStore(), [], init)).toThrow(expect.objectContaining({ code: "config_validation_failed" }));
});

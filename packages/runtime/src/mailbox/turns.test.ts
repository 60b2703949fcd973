import { AwakenError, messageText, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import type { RuntimeInit } from "../create-runtime.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { text } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { open } from "./open.test-support.ts";
import { AT_ONCE, STORES } from "./stores.test-support.ts";

const T = threadId("t");

const asked = async (store: QueueStore) =>
  (await store.messages.list(T, { limit: 100 })).items.flatMap(({ message }) => (message.role === "user" ? [messageText(message)] : []));

describe.each(STORES)("what is asked of one thread in one tick, on %s", (_, make) => {
  test("server-and-durability 36: stands in its queue in the order in which it was asked for, by whatever verb", async () => {
    await using store = make();
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held: ScriptStep = () => {
      began.resolve();
      return { items: [{ type: "until", promise: end.promise }, ...text("first").items] };
    };
    await using runtime = open(store, [held, ...Array.from({ length: 4 }, () => text("next"))]);
    const first = runtime.run({ thread: T, input: "0" });
    await began.promise;
    const results = [
      runtime.run({ thread: T, input: "1", onBusy: "queue" }),
      runtime.start({ thread: T, input: "2" }),
      runtime.stream({ thread: T, input: "3", onBusy: "queue" }).result,
      runtime.start({ thread: T, input: "4" }),
      // Whichever of them begins first reads these.
      runtime.send(T, "a", { mode: "queue" }),
      runtime.send(T, "b", { mode: "queue" }),
    ];
    await expect.poll(async () => (await store.pending.load(T)).entries).toHaveLength(6);
    end.resolve();
    await Promise.all([first, ...results]);
    await expect.poll(() => asked(store)).toHaveLength(7);
    expect(await asked(store)).toEqual(["0", "1", "a", "b", "2", "3", "4"]);
  });
});

describe.each(STORES)("what is said to one thread in one tick, on %s", (_, make) => {
  test("server-and-durability 36: waits in the order in which it was said, by the id of the thread or of its run", async () => {
    await using store = make();
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held: ScriptStep = () => {
      began.resolve();
      return { items: [{ type: "until", promise: end.promise }, ...text("first").items] };
    };
    await using runtime = open(store, [held], { workers: false });
    const run = runtime.stream({ thread: T, input: "0" });
    await began.promise;
    await Promise.all([
      runtime.start({ thread: T, input: "1" }),
      runtime.send(T, "2", { mode: "queue" }),
      runtime.send(run.id, "3", { mode: "queue" }),
      runtime.send(T, "4", { mode: "queue" }),
    ]);
    const { entries } = await store.pending.load(T);
    expect(entries.map(({ message }) => messageText(message))).toEqual(["1", "2", "3", "4"]);
    end.resolve();
    await run.result;
  });
});

describe.each(STORES)("a run that was asked for where nobody was, and takes long to begin, on %s", (_, make) => {
  test.each(["refuse", "queue"] as const)("comes before what is started later, with onBusy '%s'", async (onBusy) => {
    await using store = make();
    const ready = Promise.withResolvers<void>();
    const slow = definePlugin({ id: "slow", onInitialize: () => ready.promise, register() {} });
    await using runtime = open(store, [text("passing"), text("first"), text("second"), text("third")], {
      plugins: [slow],
      agents: { default: { model: "fast", plugins: ["slow"] }, quick: { model: "fast" } },
    });
    const first = runtime.run({ agent: "default", thread: T, input: "0", onBusy });
    const second = await runtime.start({ agent: "default", thread: T, input: "1" });
    const other = await runtime.start({ agent: "quick", thread: "other", input: "x" });
    expect(await runtime.wait(other.runId)).toMatchObject({ text: "passing" });
    // Workers have come by. What they left alone is due, so that nothing that is queued later comes before it.
    const [left] = await store.dispatches.list(T, {});
    expect(left).toMatchObject({ status: "queued", availableAt: left?.createdAt });
    const third = await runtime.start({ agent: "default", thread: T, input: "2" });
    ready.resolve();
    expect(await first).toMatchObject({ status: "done", text: "first" });
    expect(await runtime.wait(second.runId)).toMatchObject({ status: "done", text: "second" });
    expect(await runtime.wait(third.runId)).toMatchObject({ status: "done", text: "third" });
    expect(await asked(store)).toEqual(["0", "1", "2"]);
  });
});

describe.each(AT_ONCE)("runs that are queued within one millisecond, on %s", (_, make) => {
  test("have their turn in the order in which they were asked for, whatever ids their callers chose", async () => {
    const clock = fakeClock(10_000);
    await using store = make(() => clock.now());
    await using caller = open(store, [], { workers: false, clock });
    for (const runId of ["c", "a", "b"]) await caller.start({ thread: T, runId, input: runId });
    await using worker = open(store, [text("1"), text("2"), text("3")], { clock });
    expect(await worker.wait("b")).toMatchObject({ status: "done", text: "3" });
    expect(await asked(store)).toEqual(["c", "a", "b"]);
  });
});

describe.each(AT_ONCE)("whoever waits for his turn at a thread whose store does not answer, on %s", (_, make) => {
  function hanging(init: Partial<RuntimeInit> = {}) {
    const clock = fakeClock(10_000);
    const inner = make(() => clock.now());
    const threads: QueueStore["threads"] = { ...inner.threads, loadHead: () => new Promise(() => {}) };
    const runtime = open({ ...inner, threads }, [], { workers: false, clock, limits: { storeMs: 5_000 }, ...init });
    return { clock, inner, runtime };
  }
  const refused = (asked: Promise<unknown>, clock: FakeClock) =>
    asked.then(
      () => "done",
      (thrown: unknown) => (AwakenError.is(thrown) ? `${thrown.code} at ${clock.now()}` : "another error"),
    );

  test("waits no longer than for the store, however many are before him, and nothing of it is written", async () => {
    const { clock, inner, runtime } = hanging();
    const all = Promise.all(Array.from({ length: 4 }, () => refused(runtime.start({ thread: T, input: "x" }), clock)));
    await clock.advance(5_000);
    expect(await all).toEqual(Array.from({ length: 4 }, () => "storage_io at 15000"));
    expect(await inner.dispatches.list(T, {})).toEqual([]);
    await runtime.close();
    await inner.close();
  });

  test("is let go by his signal, or when the runtime is closed, at once, and nothing of it is written", async () => {
    const { clock, inner, runtime } = hanging();
    const [aborting, first] = [new AbortController(), refused(runtime.start({ thread: T, input: "1" }), clock)];
    const aborted = refused(runtime.run({ thread: T, input: "2", onBusy: "queue", signal: aborting.signal }), clock);
    const left = [runtime.start({ thread: T, input: "3" }), runtime.run({ thread: T, input: "4", onBusy: "queue" })];
    const closed = Promise.all(left.map((asked) => refused(asked, clock)));
    await clock.advance(1_000);
    aborting.abort();
    expect(await aborted).toBe("cancelled at 11000");
    await runtime.close();
    expect(await closed).toEqual(["cancelled at 11000", "cancelled at 11000"]);
    await clock.advance(10_000);
    expect(await first).toContain("storage_io");
    expect(await inner.dispatches.list(T, {})).toEqual([]);
    await inner.close();
  });
});

import { AwakenError, messageId, messageText, runId, scopeId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import { leading, office, process } from "../builtin/background/tasks.test-support.ts";
import type { RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { failure, text } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { open } from "./open.test-support.ts";
import { AT_ONCE, STORES } from "./stores.test-support.ts";

const T = threadId("t");
const DAY = 24 * 3_600_000;
const QUARTER = 15 * 60_000;

const user = (id: string, said: string) => ({ id: messageId(id), role: "user", content: [{ type: "text", text: said }] }) as const;

/** Dead letters whose process was gone before it ended their runs, and messages of a process that was gone before it queued them. */
async function leaveBehind(store: QueueStore, scope: string): Promise<void> {
  const own = scope === "default" ? store : store.scoped(scopeId(scope));
  await using starter = open(store, [], { workers: false });
  const runtime = scope === "default" ? starter : starter.scoped(scope);
  await runtime.start({ thread: "dead", runId: "dead", input: "x" });
  const claimed = (await own.dispatches.claim(threadId("dead"), { consumer: "gone", leaseMs: 1_000 }))?.dispatch;
  if (claimed === undefined) return expect.fail("there is nothing to claim");
  await own.dispatches.deadLetter(claimed, "it broke");
  await own.pending.append(T, [{ message: user("m1", "is anybody there") }]);
  // Nobody but a run that does not exist may read it.
  const deliveryMode = { targetRunId: runId("nobody"), fallbackToNewRun: false };
  await own.pending.append(threadId("never"), [{ message: user("m2", "psst"), deliveryMode }]);
}

describe.each(STORES)("what was left behind, on %s", (_, make) => {
  test("server-and-durability 48: is found by two nodes that start at once, in every tenant: runs end, messages are answered once", async () => {
    await using store = make();
    for (const scope of ["default", "acme"]) await leaveBehind(store, scope);
    const nodes = [1, 2].map(() => open(store, [text("yes"), text("yes"), text("yes")]));
    for (const own of [store, store.scoped(scopeId("acme"))]) {
      await expect.poll(async () => (await own.runs.load(runId("dead")))?.status).toBe("done");
      expect(await own.runs.load(runId("dead"))).toMatchObject({ outcome: { termination: { code: "dead_letter", message: "it broke" } } });
      const said = async () => (await own.messages.list(T, {})).items.map(({ message }) => messageText(message));
      await expect.poll(said).toEqual(["is anybody there", "yes"]);
      expect(await own.dispatches.list(threadId("never"), {})).toEqual([]);
    }
    await Promise.all(nodes.map((node) => node.close()));
    expect((await store.dispatches.list(T, {})).map(({ status }) => status)).toEqual(["acked"]);
  });

  test("is found by recover where no worker is", async () => {
    await using store = make();
    await leaveBehind(store, "default");
    await using runtime = open(store, [], { workers: false });
    await runtime.recover();
    expect(await store.runs.load(runId("dead"))).toMatchObject({ status: "done" });
    expect((await store.dispatches.list(T, {})).map(({ status }) => status)).toEqual(["queued"]);
  });
});

describe.each(AT_ONCE)("a runtime that is closed while it sweeps, on %s", (_, make) => {
  test("is at its last thread: nothing is asked of the store behind close, and nothing is logged when that is closed too", async () => {
    const store = make();
    for (let n = 0; n < 20; n++) await store.pending.append(threadId(`t${n}`), [{ message: user(`m${n}`, "is anybody there") }]);
    const began = Promise.withResolvers<void>();
    let isClosed = false;
    const late: string[] = [];
    const transaction: QueueStore["transaction"] = async (work) => {
      if (isClosed) late.push("began");
      began.resolve();
      const done = await store.transaction(async (ports) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return work(ports);
      });
      if (isClosed) late.push("ended");
      return done;
    };
    const log = { warn: (message: string) => void late.push(message), error() {} };
    const runtime = open({ ...store, transaction }, [], { log });
    await began.promise;
    await runtime.close();
    isClosed = true;
    await store.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(late).toEqual([]);
  });
});

describe.each(AT_ONCE)("a thread that cannot be read, on %s", (_, make) => {
  test("is logged, and the threads behind it are mended all the same", async () => {
    await using store = make();
    const before = office({ lead: leading }, { ...process(store), workers: false });
    before.does(async ({ tasks }) => void (await tasks.spawn({}, () => new Promise(() => {}))));
    for (const thread of ["a", "b", "c"]) await before.runtime.run({ agent: "lead", thread, input: "go" });
    const broken = new Map([
      ["a", new AwakenError("storage_corrupt", "it is not JSON")],
      ["b", new AwakenError("storage_too_new", "it is of a later version")],
    ]);
    const threads: QueueStore["threads"] = {
      ...store.threads,
      loadState: async (id) => {
        const error = broken.get(id);
        if (error !== undefined) throw error;
        return store.threads.loadState(id);
      },
    };
    const warned: string[] = [];
    const log = { warn: (message: string) => void warned.push(message), error() {} };
    const after = office({ lead: leading }, { ...process({ ...store, threads }), workers: false, log });
    await after.runtime.recover();
    const queued = async (id: string) => (await store.dispatches.list(threadId(id), { statuses: ["queued"] })).length;
    expect([await queued("a"), await queued("b"), await queued("c")]).toEqual([0, 0, 1]);
    expect(warned).toEqual([
      "what is left over of thread a could not be mended: it is not JSON",
      "what is left over of thread b could not be mended: it is of a later version",
    ]);
    await after.runtime.close();
    await before.runtime.close();
  });
});

/** Days may pass in it without a look at each of their half minutes. */
function leapClock() {
  const clock = fakeClock(1_000);
  let leapt = 0;
  const leap = async (ms: number) => {
    leapt += ms - 2 * QUARTER;
    await clock.advance(2 * QUARTER);
  };
  return { ...clock, now: () => clock.now() + leapt, leap };
}

describe.each(AT_ONCE)("retention, on %s", (_, make) => {
  const play = async (init: Partial<RuntimeInit>, queue: Partial<QueueStore["queue"]> = {}) => {
    const clock = leapClock();
    const store = make(() => clock.now());
    const swept: unknown[] = [];
    const counting: QueueStore = {
      ...store,
      queue: { ...store.queue, ...queue },
      sweep: (retention) => {
        swept.push(retention);
        return store.sweep(retention);
      },
    };
    const runtime = open(counting, [text("hi")], { clock, ...init });
    await runtime.run({ thread: "t", input: "x" });
    const left = async () => ({
      dispatches: (await store.dispatches.countByStatus()).acked,
      events: (await store.stats()).events,
      messages: await store.messages.count(T),
      runs: await store.runs.count({}),
    });
    return { clock, store, runtime, swept, left };
  };

  test("server-and-durability 49, 63: what is over is deleted when its time has passed, by itself; what was said stays", async () => {
    const { clock, store, runtime, swept, left } = await play({});
    const before = await left();
    expect(before).toMatchObject({ dispatches: 1, messages: 2 });
    expect(before.events).toBeGreaterThan(0);
    await clock.leap(DAY + 2 * QUARTER);
    expect(await left()).toEqual({ ...before, dispatches: 0 });
    await clock.leap(30 * DAY);
    expect(await left()).toEqual({ ...before, dispatches: 0, events: 0 });
    expect(swept.length).toBeLessThanOrEqual(6);
    await runtime.close();
    await store.close();
  });

  test.each([
    ["not where nothing is to be deleted", { retention: false } as const],
    ["not where no worker is", { workers: false } as const],
    ["not what is left out", { retention: { streamCheckpointsMs: QUARTER } } as const],
  ])("%s", async (_name, init) => {
    const { clock, store, runtime, swept, left } = await play(init);
    const before = await left();
    await clock.leap(2 * DAY);
    expect(await left()).toEqual(before);
    if (!("retention" in init) || init.retention === false) expect(swept).toEqual([]);
    await runtime.close();
    await store.close();
  });

  test("also where the store cannot say what else is left over", async () => {
    const listAwaitingTasks = () => Promise.reject(new AwakenError("storage_corrupt", "a row is broken"));
    const { clock, store, runtime, swept } = await play({}, { listAwaitingTasks });
    await expect(runtime.recover()).rejects.toMatchObject({ code: "storage_corrupt" });
    await clock.leap(DAY);
    expect(swept.length).toBeGreaterThan(0);
    await runtime.close();
    await store.close();
  });

  test("an idle node sweeps once in a quarter of an hour", async () => {
    const { clock, store, runtime, swept } = await play({});
    await clock.advance(QUARTER * 8);
    expect(swept.length).toBeGreaterThanOrEqual(7);
    expect(swept.length).toBeLessThanOrEqual(8);
    await runtime.close();
    await store.close();
  });
});

describe.each(STORES)("garbage, on %s", (_, make) => {
  test("server-and-durability 49: dispatches that are over go when they are older than a day, and never a queued or claimed one", async () => {
    const clock = leapClock();
    await using store = make(() => clock.now());
    const limits = { storeMs: 100 * DAY };
    const statuses = async () => {
      const threads = ["acked", "dead", "cancelled", "superseded", "young", "busy"].map((id) => store.dispatches.list(threadId(id), {}));
      return (await Promise.all(threads)).map((list) => list.map(({ status }) => status).join());
    };
    await using starter = open(store, [text("hi")], { workers: false, limits });
    await starter.run({ thread: "acked", input: "x" });
    expect(await starter.cancel((await starter.start({ thread: "cancelled", input: "x" })).runId)).toBe(true);
    await starter.start({ thread: "superseded", input: "x" });
    await starter.interrupt("superseded");
    // Its claim lasts longer than all that passes here, and the clock of its owner stands still.
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held: ScriptStep = () => {
      began.resolve();
      return { items: [{ type: "until", promise: end.promise }, ...text("at last").items] };
    };
    await starter.start({ thread: "busy", runId: "claimed", input: "x" });
    await using owner = open(store, [held, text("next")], { clock: fakeClock(1_000), leaseMs: 100 * DAY, concurrency: 1, limits });
    await began.promise;
    await starter.start({ thread: "busy", runId: "queued", input: "x" });
    const retry = { maxRetries: 0, maxStreamRetries: 0 };
    const agents = { default: { model: "fast", sections: { retry } } };
    await using sweeping = open(store, [failure("unauthorized", "bad key"), text("hi"), text("next")], { clock, agents, limits });
    await sweeping.wait((await starter.start({ thread: "dead", input: "x" })).runId);
    await expect.poll(statuses).toEqual(["acked", "dead-letter", "cancelled", "superseded", "", "claimed,queued"]);
    await clock.leap(DAY - 4 * QUARTER);
    await sweeping.run({ thread: "young", input: "x" });
    expect(await statuses()).toEqual(["acked", "dead-letter", "cancelled", "superseded", "acked", "claimed,queued"]);
    await clock.leap(6 * QUARTER);
    const sweepOn = async () => {
      await clock.advance(1_000);
      return statuses();
    };
    await expect.poll(sweepOn).toEqual(["", "", "", "", "acked", "claimed,queued"]);
    end.resolve();
    expect(await owner.wait("claimed")).toMatchObject({ status: "done", text: "at last" });
    expect(await starter.wait("queued")).toMatchObject({ status: "done" });
  });
});

test.each([-1, Number.NaN])("a time to keep that cannot be is refused: %d", async (eventsMs) => {
  await using store = memoryStore();
  expect(() => open(store, [], { retention: { eventsMs } })).toThrow(expect.objectContaining({ code: "config_validation_failed" }));
});

import { messageText, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type Runtime, type RuntimeInit } from "../create-runtime.ts";
import { type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { type ScriptedTurn, text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import type { Tool } from "../tool/tool.ts";
import { ask } from "../tool/verdict.ts";
import { type Lateness, lateness, type Way } from "./slow-store.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// A store whose every answer comes late, and within its limit: nothing is refused, lost, said or done twice.

const T = threadId("t");
/** The shortest limit of a request is 5 s: that of a run that was told to stop. */
const LATE_MS = 4_800;
const LEASE_MS = 30_000;
const AT_ONCE: Way = { there: 0, back: 0 };

interface Scene {
  readonly clock: FakeClock;
  readonly slow: Lateness;
  /** What is on record, without delay. */
  readonly store: QueueStore;
  readonly effects: string[];
  /** A process with a slow store. */
  open(turns: readonly ScriptStep[], init?: Partial<RuntimeInit> & { readonly tools?: readonly Tool[] }): Runtime;
}

async function play(
  make: (clock?: () => number) => QueueStore,
  work: (scene: Scene) => Promise<void>,
  wayOf: (call: string) => Way = () => ({ there: LATE_MS / 2, back: LATE_MS / 2 }),
): Promise<void> {
  const clock = fakeClock(1_000_000);
  await using store = make(clock.now);
  const slow = lateness(clock);
  const effects: string[] = [];
  const late = slow.wrap(store, wayOf);
  const pay = defineTool({
    id: "pay",
    description: "Pays",
    input: z.object({}),
    approve: () => ask("Pay?"),
    execute: () => `paid ${effects.push("paid")}`,
  });
  const note = defineTool({ id: "note", description: "Notes", input: z.object({}), execute: () => `noted ${effects.push("noted")}` });
  const open: Scene["open"] = (turns, { tools = [], ...init } = {}) =>
    createRuntime({
      providers: { scripted: scripted(turns) },
      models: { fast: { provider: "scripted", model: "m" } },
      agents: { default: { model: "fast" } },
      tools: [pay, note, ...tools],
      log: { warn() {}, error() {} },
      store: late,
      clock,
      leaseMs: LEASE_MS,
      workers: false,
      ...init,
    });
  await work({ clock, slow, store, effects, open });
  expect(slow.count).toBeGreaterThan(0);
  expect(await store.dispatches.list(T, { statuses: ["queued", "claimed", "dead-letter"] })).toEqual([]);
  expect((await store.pending.load(T)).entries).toEqual([]);
}

const logOf = async (store: QueueStore) => (await store.messages.list(T, {})).items.map(({ message }) => messageText(message));

/** A tool that lasts until it is released, whatever its run is told. */
function lasting(effects: string[]) {
  const began = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const execute = async () => {
    effects.push("slept");
    began.resolve();
    await end.promise;
    return "slept";
  };
  return { tool: defineTool({ id: "slow", description: "", input: z.object({}), execute }), began: began.promise, release: end.resolve };
}

/** A model that answers when it is released. */
function held({ items }: ScriptedTurn) {
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const step: ScriptStep = () => {
    began.resolve();
    return { items: [{ type: "until", promise: end.promise }, ...items] };
  };
  return { step, began: began.promise, release: end.resolve };
}

describe.each(STORES)("a store that answers slowly, but in time, on %s", (_, make) => {
  test("submit, claim, tools, an approval and its decision: each is done once", () =>
    play(make, async ({ open, effects, store }) => {
      await using worker = open([toolCall("note", {}), toolCall("pay", {}), text("settled")], { workers: true });
      // Whoever decides goes on with the run.
      await using asker = open([text("settled")]);
      const { runId } = await asker.start({ thread: T, input: "pay it" });
      const waiting = await asker.wait(runId);
      const tickets = waiting.status === "waiting" ? waiting.tickets : expect.fail(waiting.status);
      expect(effects).toEqual(["noted"]);
      const { result } = await asker.decide(tickets[0]?.id ?? "", { action: "approve" });
      expect(await result).toMatchObject({ status: "done", text: "settled" });
      expect(await worker.wait(runId)).toMatchObject({ status: "done", text: "settled" });
      expect(effects).toEqual(["noted", "paid"]);
      expect((await logOf(store)).filter((each) => each === "pay it")).toHaveLength(1);
    }));

  test("a run in the foreground with an approval is decided and goes on", () =>
    play(make, async ({ open, effects }) => {
      await using runtime = open([toolCall("pay", {}), text("settled")]);
      const waiting = await runtime.run({ thread: T, input: "pay it" });
      const tickets = waiting.status === "waiting" ? waiting.tickets : expect.fail(waiting.status);
      const { result } = await runtime.decide(tickets[0]?.id ?? "", { action: "approve" });
      expect(await result).toMatchObject({ status: "done", text: "settled" });
      expect(effects).toEqual(["paid"]);
    }));

  test("what is sent to a run at work is read once, after its step or by a run of its own", () =>
    play(make, async ({ open, effects, store }) => {
      const slow = lasting(effects);
      const turns = [toolCall("slow", {}), text("first"), text("second")];
      await using runtime = open(turns, { tools: [slow.tool], workers: true });
      await using asker = open([]);
      const run = runtime.stream({ thread: T, input: "go" });
      await slow.began;
      expect(await asker.send(T, "now", { mode: "steer" })).toMatchObject({ status: "steered" });
      const queued = await asker.send(T, "then", { mode: "queue" });
      expect(queued.status).toBe("queued");
      slow.release();
      expect(await run.result).toMatchObject({ status: "done" });
      await expect.poll(async () => (await store.pending.load(T)).entries.length).toBe(0);
      await expect.poll(async () => (await store.dispatches.list(T, { statuses: ["queued", "claimed"] })).length).toBe(0);
      const log = await logOf(store);
      expect(log.filter((each) => each === "now")).toHaveLength(1);
      expect(log.filter((each) => each === "then")).toHaveLength(1);
      expect(effects).toEqual(["slept"]);
    }));

  test("a cancel reaches a run at work elsewhere, one that waits, and one that nobody has begun", () =>
    play(make, async ({ open, effects, store }) => {
      const slow = lasting(effects);
      await using owner = open([toolCall("slow", {}), text("unwanted")], { tools: [slow.tool] });
      await using asker = open([toolCall("pay", {})]);
      const run = owner.stream({ thread: T, input: "go" });
      await slow.began;
      const queued = await asker.start({ thread: T, input: "later" });
      expect(await asker.cancel(queued.runId)).toBe(true);
      expect(await asker.cancel(T)).toBe(true);
      slow.release();
      expect(await run.result).toMatchObject({ status: "cancelled" });
      expect(await store.runs.load(queued.runId)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
      const waiting = await asker.run({ thread: T, input: "pay it" });
      expect(waiting.status).toBe("waiting");
      expect(await asker.cancel(waiting.runId)).toBe(true);
      // It is taken up only to be ended.
      await expect.poll(async () => (await store.runs.load(waiting.runId))?.status).toBe("done");
      expect(await store.runs.load(waiting.runId)).toMatchObject({ outcome: { termination: { type: "cancelled" } } });
      expect(effects).toEqual(["slept"]);
    }));

  test("closing gives back what came from the queue, without an attempt, and whoever goes on does nothing twice", () =>
    play(make, async ({ open, effects, store }) => {
      const slow = lasting(effects);
      const turns = [toolCall("slow", {}), text("unsaid")];
      const first = open(turns, { tools: [slow.tool], workers: true });
      const { runId } = await first.start({ thread: T, input: "go" });
      await slow.began;
      const closing = first.close();
      slow.release();
      await closing;
      expect(await store.dispatches.list(T, { statuses: ["queued"] })).toMatchObject([{ attemptCount: 0 }]);
      await using second = open([text("said")], { tools: [slow.tool], workers: true });
      expect(await second.wait(runId)).toMatchObject({ status: "done", text: "said" });
      expect(effects).toEqual(["slept"]);
    }));
});

describe.each(STORES)("a renewal that is answered late, on %s", (_, make) => {
  /** Every other answer comes at once. */
  const withRenewals = (way: Way, work: (scene: Scene) => Promise<void>) =>
    play(make, work, (call) => (call === "extendLease" ? way : AT_ONCE));

  test("but before the lease is over keeps the run, for as long as it lasts", () =>
    withRenewals({ there: 7_000, back: 7_000 }, async ({ open, effects, slow, store }) => {
      const last = lasting(effects);
      await using owner = open([toolCall("slow", {}), toolCall("note", {}), text("done")], { tools: [last.tool] });
      await using other = open([text("stolen")], { tools: [last.tool] });
      const run = owner.stream({ thread: T, input: "go" });
      await last.began;
      for (let seconds = 0; seconds < 120; seconds += 5) {
        await slow.pass(5_000);
        await other.recover();
        expect(await store.dispatches.list(T, { statuses: ["claimed"] })).toHaveLength(1);
      }
      expect(slow.count).toBeGreaterThan(3);
      last.release();
      expect(await run.result).toMatchObject({ status: "done", text: "done" });
      expect(effects).toEqual(["slept", "noted"]);
    }));

  const requestLate = { there: 35_000, back: 1_000 };
  const answerLate = { there: 0, back: 60_000 };
  test.each([
    ["the request comes too late", "its model answers first", requestLate, 31_000],
    ["the request comes too late", "its model never answers", requestLate, 31_000],
    ["its answer comes too late", "its model answers first", answerLate, 41_000],
    ["its answer comes too late", "its model never answers", answerLate, 41_000],
  ] as const)("after it is over (%s, %s) gives the run up, and no call is made twice", (_what, answers, way, takenAfter) =>
    withRenewals(way, async ({ open, effects, slow, store }) => {
      const turn = held(toolCall("note", {}));
      await using owner = open([toolCall("note", {}), turn.step, text("unsaid")], { limits: { storeMs: 10 * LEASE_MS } });
      await using other = open([toolCall("note", {}), text("said")], { store: slow.wrap(store, () => AT_ONCE), workers: true });
      const run = owner.stream({ thread: T, input: "go", runId: "r" });
      await turn.began;
      await slow.pass(takenAfter);
      await other.recover();
      expect(await other.wait("r")).toMatchObject({ status: "done", text: "said" });
      if (answers === "its model answers first") turn.release();
      await slow.pass(3 * LEASE_MS);
      expect(await run.result).toMatchObject({ status: "failed", error: { code: "fence_lost" } });
      turn.release();
      expect(effects).toEqual(["noted", "noted"]);
      expect((await logOf(store)).filter((each) => each === "unsaid")).toEqual([]);
    }),
  );
});

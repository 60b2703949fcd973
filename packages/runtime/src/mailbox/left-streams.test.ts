import { type AgentEvent, AwakenError, EVENT_TABLE, messageText, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Runtime, RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { stall, text, toolCall } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open as openScripted } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// Whoever reads the events of a run goes on reading when it leaves this process before its end.

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) =>
  openScripted(store, turns, { limits: { storeMs: 3_600_000 }, ...init });

/** Fails the first commit of the kind that is meant. */
function failing(store: QueueStore, isMeant: (steps: number, isAck: boolean) => boolean): QueueStore {
  let left = 1;
  return {
    ...store,
    commit: async (given) => {
      if (isMeant(given.run?.steps ?? 0, given.dispatch?.type === "ack") && left-- > 0) {
        throw new AwakenError("storage_io", "the database is starting up");
      }
      return store.commit(given);
    },
  };
}

/** The answer to the commit of this step is lost, and the next commit fails: the run leaves there. */
function losing(store: QueueStore, step: number): QueueStore {
  let isLost = false;
  const next = failing(store, (steps, isAck) => isLost && steps === step + 1 && !isAck);
  return {
    ...store,
    commit: async (given) => {
      const result = await next.commit(given);
      if (isLost || (given.run?.steps ?? 0) !== step) return result;
      isLost = true;
      throw new AwakenError("commit_unknown", "the connection broke");
    },
  };
}

const add = defineTool({ id: "add", description: "", input: z.object({}), pure: true, execute: () => "2" });
const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

async function read(events: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const told: AgentEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
}

const typesOf = (events: readonly AgentEvent[]) => events.map(({ type }) => type);

/** Committed events as the log has them, for whoever comes now. */
async function onRecord(runtime: Runtime, id: string): Promise<readonly AgentEvent[]> {
  const told = await read(runtime.attach(id));
  return told.flatMap((event) => {
    const { cursor: _cursor, ...fact } = { cursor: undefined, ...event };
    return EVENT_TABLE[event.type].isStored ? [fact] : [];
  });
}

const factsOf = (events: readonly AgentEvent[]) => events.filter(({ type }) => EVENT_TABLE[type].isStored);

/** What was said of each step in the end: what a reset voided does not count. */
function wordsOf(events: readonly AgentEvent[]): readonly string[] {
  const words: string[] = [];
  for (const event of events) {
    if (event.type === "step-start") words[event.step - 1] = "";
    if (event.type === "stream-reset") words[words.length - 1] = "";
    if (event.type === "text-delta") words[words.length - 1] += event.delta;
  }
  return words;
}

describe.each(STORES)("events of a run that leaves before its end, on %s", (_, make) => {
  test("go on after the store has failed a commit: each fact that is on record comes, in order, and one end", async () => {
    await using store = make();
    await using runtime = open(
      failing(store, (steps, isAck) => steps === 2 && !isAck),
      [toolCall("add", {}), toolCall("add", {}), toolCall("add", {}), text("done")],
      {
        tools: [add],
      },
    );
    const run = runtime.stream({ thread: "t", input: "x" });
    const told = await read(run);
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    const facts = factsOf(told);
    const recorded = await onRecord(runtime, run.id);
    // What was said of the step that was lost stands before it is said again.
    const again = facts.findIndex((event) => event.type === "run-start" && event.resumed);
    const before = recorded.findIndex((event) => event.type === "run-start" && event.resumed);
    expect(facts.slice(0, before)).toEqual(recorded.slice(0, before));
    expect(facts.slice(again)).toEqual(recorded.slice(before));
    expect(typesOf(told).filter((type) => type === "run-end")).toHaveLength(1);
    expect(told.at(-1)).toMatchObject({ type: "run-end", termination: { type: "natural-end" } });
    expect(wordsOf(told)).toEqual(["", "", "done"]);
  });

  test("say that the words of a step that was not on record are void, and say it again", async () => {
    await using store = make();
    await using runtime = open(
      failing(store, (_steps, isAck) => isAck),
      [toolCall("add", {}), text("first ", "try"), text("second")],
      {
        tools: [add],
      },
    );
    const run = runtime.stream({ thread: "t", input: "x" });
    const told = await read(run);
    expect(await run.result).toMatchObject({ status: "done", text: "second" });
    expect(wordsOf(told)).toEqual(["", "second"]);
    const reset = typesOf(told).indexOf("stream-reset");
    expect(told[reset + 1]).toMatchObject({ type: "run-start", resumed: true });
    expect(typesOf(told.slice(0, reset))).not.toContain("run-end");
  });

  test.each([0, 1, 2])("come once, and with their end, when the answer to the commit of step %i was lost before", async (step) => {
    await using store = make();
    const turns = [...["a", "b", "c", "d"].map((id) => toolCall("add", {}, { id })), text("done")];
    await using runtime = open(losing(store, step), turns, { tools: [add] });
    const run = runtime.stream({ thread: "t", input: "x" });
    const told = await read(run);
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    const facts = factsOf(told);
    const recorded = await onRecord(runtime, run.id);
    const again = facts.findIndex((event) => event.type === "run-start" && event.resumed);
    const before = recorded.findIndex((event) => event.type === "run-start" && event.resumed);
    expect(facts.slice(0, before)).toEqual(recorded.slice(0, before));
    expect(facts.slice(again)).toEqual(recorded.slice(before));
    expect(told.filter((event) => event.type === "run-start" && !event.resumed)).toHaveLength(1);
    expect(told.flatMap((event) => (event.type === "step-end" ? [event.step] : []))).toEqual([1, 2, 3, 4]);
    expect(told.at(-1)).toMatchObject({ type: "run-end", termination: { type: "natural-end" } });
  });

  test("come with their end when the first answer was lost and the log is read after it", async () => {
    await using inner = make();
    const over = Promise.withResolvers<void>();
    const { events } = inner;
    const list: typeof events.list = async (...given) => {
      await over.promise;
      return events.list(...given);
    };
    const lost = losing(inner, 0);
    const store: QueueStore = {
      ...lost,
      events: new Proxy(events, { get: (port, key) => (key === "list" ? list : Reflect.get(port, key)) }),
      commit: async (given) => {
        const result = await lost.commit(given);
        if (given.run?.status === "done") over.resolve();
        return result;
      },
    };
    await using runtime = open(store, [toolCall("add", {}), toolCall("add", {}), text("done")], { tools: [add] });
    const told = await read(runtime.stream({ thread: "t", input: "x" }));
    expect(typesOf(told).filter((type) => type === "run-end")).toHaveLength(1);
    expect(told.at(-1)).toMatchObject({ type: "run-end", termination: { type: "natural-end" } });
  });

  test("of a decision go on, too", async () => {
    await using store = make();
    const tools = [pay, add];
    await using first = open(store, [toolCall("pay", {})], { tools, workers: false });
    const waiting = await first.run({ thread: "t", input: "x" });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    await using next = open(
      failing(store, (steps, isAck) => steps === 2 && !isAck),
      [toolCall("add", {}), text("done")],
      { tools },
    );
    const run = await next.decide(ticket?.id ?? "", { action: "approve" });
    const told = await read(run);
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(told.at(-1)).toMatchObject({ type: "run-end", termination: { type: "natural-end" } });
    expect(typesOf(told).filter((type) => type === "run-end")).toHaveLength(1);
  });

  test("end where the run waits in the other process, and not before its result", async () => {
    await using store = make();
    const clock = fakeClock(1_000);
    await using first = open(store, [stall(text("Half ", "of ", "it"), 2)], { clock, yieldBefore: () => 6_000, tools: [pay] });
    const run = first.stream({ thread: "t", input: "x" });
    const told: AgentEvent[] = [];
    const reading = (async () => {
      for await (const event of run) told.push(event);
    })();
    await expect.poll(() => typesOf(told).filter((type) => type === "text-delta").length).toBe(2);
    await clock.advance(5_000);
    await expect.poll(async () => (await store.dispatches.list(run.threadId, {})).map(({ status }) => status)).toEqual(["queued"]);
    await using second = open(store, [toolCall("pay", {})], { clock: fakeClock(7_000), tools: [pay] });
    expect(await second.wait(run.id)).toMatchObject({ status: "waiting" });
    expect(await run.result).toMatchObject({ status: "waiting", tickets: [{ toolName: "pay" }] });
    await reading;
    expect(typesOf(told).slice(-2)).toEqual(["ticket-open", "run-end"]);
    expect(told.at(-1)).toMatchObject({ type: "run-end", result: { status: "waiting" } });
  });

  test("a stream that was queued behind another run ends where its run waits", async () => {
    await using store = make();
    const began = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const slow = defineTool({
      id: "slow",
      description: "",
      input: z.object({}),
      execute: async () => {
        began.resolve();
        await end.promise;
        return "slept";
      },
    });
    await using runtime = open(store, [toolCall("slow", {}), text("first"), toolCall("pay", {})], { tools: [slow, pay] });
    const first = runtime.run({ thread: "t", input: "x" });
    await began.promise;
    const second = runtime.stream({ thread: "t", input: "y", onBusy: "queue" });
    const reading = read(second);
    end.resolve();
    expect(await first).toMatchObject({ status: "done", text: "first" });
    expect(await second.result).toMatchObject({ status: "waiting" });
    const told = await reading;
    expect(told.at(-1)).toMatchObject({ type: "run-end", result: { status: "waiting" }, runId: runId(second.id) });
  });
});

describe.each(STORES)("a run that a tool of a queued run waits for, on %s", (_, make) => {
  test("is taken up after the store has failed it, although its tool has the only place", async () => {
    await using inner = make();
    let left = 1;
    const store: QueueStore = {
      ...inner,
      commit: async (given) => {
        if (given.threadId === "inner" && given.dispatch?.type === "ack" && left-- > 0)
          throw new AwakenError("storage_io", "the disk is full");
        return inner.commit(given);
      },
    };
    const call = defineTool({
      id: "call",
      description: "",
      input: z.object({}),
      execute: async (): Promise<string> => {
        const result = await runtime.run({ thread: "inner", input: "y" });
        return `inner ${result.status}: ${result.text}`;
      },
    });
    await using runtime = open(store, [toolCall("call", {}), text("lost"), text("kept"), text("done")], { tools: [call], concurrency: 1 });
    const { runId: id } = await runtime.start({ thread: "outer", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "done" });
    const { items } = await store.messages.list(threadId("outer"), {});
    expect(items.map(({ message }) => messageText(message))).toEqual(["x", "", "inner done: kept", "done"]);
  });

  test("is taken up when it was queued behind another one, although its tool has the only place", async () => {
    await using store = make();
    const began = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const hold = defineTool({
      id: "hold",
      description: "",
      input: z.object({}),
      execute: async () => {
        began.resolve();
        await end.promise;
        return "held";
      },
    });
    const call = defineTool({
      id: "call",
      description: "",
      input: z.object({}),
      execute: async (): Promise<string> => {
        const result = runtime.run({ thread: "inner", input: "y", onBusy: "queue" });
        await expect.poll(async () => (await store.dispatches.list(threadId("inner"), { statuses: ["queued"] })).length).toBe(1);
        end.resolve();
        return `inner ${(await result).status}`;
      },
    });
    await using other = open(store, [toolCall("hold", {}), text("first")], { tools: [hold], workers: false });
    const first = other.run({ thread: "inner", input: "z" });
    await began.promise;
    await using runtime = open(store, [toolCall("call", {}), text("second"), text("done")], { tools: [call, hold], concurrency: 1 });
    const { runId: id } = await runtime.start({ thread: "outer", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "done" });
    expect(await first).toMatchObject({ status: "done" });
  });
});

test("many runs that have left and are waited for cost a few claims each, few of them at a time", async () => {
  const inner = memoryStore();
  const { dispatches } = inner;
  const counts = { claims: 0, now: 0, peak: 0 };
  const claim: typeof dispatches.claim = async (...given) => {
    counts.claims += 1;
    counts.now += 1;
    counts.peak = Math.max(counts.peak, counts.now);
    await new Promise((resolve) => setImmediate(resolve));
    counts.now -= 1;
    return dispatches.claim(...given);
  };
  const failed = new Set<string>();
  const store: QueueStore = {
    ...inner,
    dispatches: new Proxy(dispatches, { get: (port, key) => (key === "claim" ? claim : Reflect.get(port, key)) }),
    commit: async (given) => {
      if (given.run?.steps !== 1 || failed.has(given.threadId)) return inner.commit(given);
      failed.add(given.threadId);
      throw new AwakenError("storage_io", "the database is starting up");
    },
  };
  const turns = Array.from({ length: 160 }, () => text("done"));
  await using runtime = open(store, turns, { concurrency: 2 });
  const began = performance.now();
  const results = await Promise.all(Array.from({ length: 80 }, (_, nth) => runtime.run({ thread: `t${nth}`, input: "x" })));
  expect(results.every(({ status }) => status === "done")).toBe(true);
  // While all places are taken, sixteen are asked for four times a second.
  const looks = Math.ceil((performance.now() - began) / 250) + 1;
  expect(counts.claims).toBeLessThan(80 * 4 + 16 * looks);
  expect(counts.peak).toBeLessThanOrEqual(16);
});

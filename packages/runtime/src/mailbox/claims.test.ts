import { type AgentEvent, AwakenError, decisionId, EVENT_TABLE, messageText, runId, threadId, ticketId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { failure, type ScriptedTurn, text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { AT_ONCE, STORES } from "./stores.test-support.ts";

// What the queue of a store promises, as workers and readers meet it.

const T = threadId("t");

function open(store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast", sections: { retry: { maxRetries: 0, maxStreamRetries: 0 } } } },
    log: { warn() {}, error() {} },
    limits: { storeMs: 3_600_000 },
    store,
    workers: false,
    ...init,
  });
  return Object.assign(runtime, { model });
}

const dispatches = (store: QueueStore, thread = T) => store.dispatches.list(thread, {});

/** As if whoever holds claims were gone. */
const takeAway = async ({ queue }: QueueStore): Promise<void> => {
  await queue.reclaimExpired(
    undefined,
    (await queue.listConsumers()).map(({ name }) => name),
  );
};

/** An answer that begins when it is let, whatever becomes of its run meanwhile. */
function held({ items }: ScriptedTurn) {
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const turn: ScriptStep = () => {
    began.resolve();
    return { items: [{ type: "until", promise: end.promise }, ...items] };
  };
  return { turn, began: began.promise, release: end.resolve };
}

describe.each(STORES)("a dispatch whose time has not come, on %s", (_, make) => {
  test("server-and-durability 23: is taken by no worker before it; whoever goes on with the run himself does not wait for it", async () => {
    const clock = fakeClock(10_000);
    await using store = make(() => clock.now());
    await using worker = open(store, [failure("rate-limited"), text("not here")], { workers: true, clock });
    const { runId: id } = await worker.start({ thread: "t", input: "x" });
    await expect.poll(() => dispatches(store)).toMatchObject([{ status: "queued", attemptCount: 1, availableAt: 10_250 }]);
    await clock.advance(200);
    await worker.recover();
    expect(await store.dispatches.claim(T, { consumer: "nobody", leaseMs: 1_000 })).toBeUndefined();
    expect(worker.model.requests).toHaveLength(1);
    // It has 50 ms to wait by the clock of the store.
    await using other = open(store, [text("here")], { clock: fakeClock(10_200) });
    expect(await other.resume(id)).toMatchObject({ status: "done", text: "here" });
    expect(worker.model.requests).toHaveLength(1);
  });
});

describe.each(AT_ONCE)("a thread whose queue cannot be read, on %s", (_, make) => {
  test.each(["storage_corrupt", "storage_too_new"] as const)(
    "%s: keeps no worker from those behind it, and is tried again",
    async (code) => {
      const clock = fakeClock(10_000);
      await using inner = make(() => clock.now());
      let isBroken = true;
      const claim: QueueStore["dispatches"]["claim"] = async (id, request) => {
        if (id === "bad" && isBroken) throw new AwakenError(code, "it is not to be read");
        return inner.dispatches.claim(id, request);
      };
      const store: QueueStore = { ...inner, dispatches: { ...inner.dispatches, claim } };
      await using caller = open(store, [], { clock });
      for (const thread of ["bad", "good", "behind"]) {
        await caller.start({ thread, input: "x" });
        await clock.advance(1);
      }
      const warned: string[] = [];
      const log = { warn: (message: string) => void warned.push(message), error() {} };
      await using worker = open(store, [text("a"), text("b"), text("c")], { workers: true, concurrency: 1, clock, log });
      const statusOf = async (thread: string) => (await dispatches(store, threadId(thread)))[0]?.status;
      await expect.poll(() => statusOf("behind")).toBe("acked");
      expect([await statusOf("bad"), await statusOf("good")]).toEqual(["queued", "acked"]);
      expect(warned).toEqual(["a dispatch could not be claimed: it is not to be read"]);
      isBroken = false;
      await clock.advance(5_000);
      await clock.advance(1_000);
      await expect.poll(() => statusOf("bad")).toBe("acked");
      expect(worker.model.requests).toHaveLength(3);
    },
  );
});

describe.each(STORES)("an owner whose run another one has by now, on %s", (_, make) => {
  const ends: readonly (readonly [string, ScriptedTurn])[] = [
    ["its ack", text("too late")],
    ["its nack", failure("rate-limited")],
    ["its dead letter", failure("unauthorized", "bad key")],
  ];
  test.each(ends)("server-and-durability 24: %s is refused, and the claim of the other stays", async (_name, end) => {
    await using store = make();
    const late = held(end);
    // Its only place is taken: it does not claim again what it lost.
    await using old = open(store, [late.turn], { workers: true, concurrency: 1 });
    const { runId: id } = await old.start({ thread: "t", input: "x" });
    await late.began;
    const [first] = await dispatches(store);
    await takeAway(store);
    const now = held(text("in time"));
    await using next = open(store, [now.turn], { workers: true });
    await now.began;
    const before = await dispatches(store);
    expect(before).toMatchObject([{ status: "claimed", dispatchId: first?.dispatchId, attemptCount: 1 }]);
    late.release();
    // It claims nothing any more, and has let go of what it had.
    await old.close();
    expect(await dispatches(store)).toEqual(before);
    now.release();
    expect(await next.wait(id)).toMatchObject({ status: "done", text: "in time" });
    expect(await dispatches(store)).toMatchObject([{ status: "acked", attemptCount: 1 }]);
    expect((await next.deadLetters.list()).items).toEqual([]);
  });

  test("server-and-durability 27: after an interrupt its lease is not renewed, the row is superseded, and its run is told", async () => {
    const clock = fakeClock(10_000);
    await using store = make(() => clock.now());
    const told = Promise.withResolvers<unknown>();
    const slow = defineTool({
      id: "slow",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: (_input, { signal }) =>
        new Promise<string>((resolve) => {
          signal.addEventListener("abort", () => {
            told.resolve(signal.reason);
            resolve("stopped");
          });
          began.resolve();
        }),
    });
    const began = Promise.withResolvers<void>();
    await using owner = open(store, [toolCall("slow", {})], { workers: true, clock, tools: [slow] });
    const { runId: id } = await owner.start({ thread: "t", input: "x" });
    await began.promise;
    expect(await dispatches(store)).toMatchObject([{ status: "claimed" }]);
    // Whoever raises the epoch does not wait for the owner here.
    await store.dispatches.interrupt(T);
    expect(await dispatches(store)).toMatchObject([{ status: "claimed" }]);
    await clock.advance(10_000);
    expect(await told.promise).toMatchObject({ code: "fence_lost" });
    await expect.poll(() => dispatches(store)).toMatchObject([{ status: "superseded" }]);
    // Its last words are not taken: the call has no result.
    expect(await store.runs.load(id)).toMatchObject({ status: "running" });
    expect((await store.messages.list(T, {})).items.map(({ message }) => message.role)).toEqual(["user", "assistant"]);
    await using next = open(store, [text("instead")], { clock: fakeClock(20_000) });
    expect(await next.run({ thread: "t", input: "y" })).toMatchObject({ status: "done", text: "instead" });
  });
});

const factsOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => {
    const { cursor: _cursor, ...fact } = { cursor: undefined, ...event };
    return EVENT_TABLE[event.type].isStored ? [fact] : [];
  });

describe.each(STORES)("whoever follows from now on, on %s", (_, make) => {
  test("server-and-durability 56: hears of each committed event once and misses none, whenever he comes", async () => {
    await using store = make();
    const RUNS = 8;
    const add = defineTool({ id: "add", description: "", input: z.object({}), pure: true, execute: () => "2" });
    const turns = Array.from({ length: RUNS }, () => [toolCall("add", {}), text("done")]).flat();
    await using worker = open(store, turns, { workers: true, tools: [add] });
    await using reader = open(store, []);
    await worker.run({ thread: "t", input: "first" });
    const readAll = async () => {
      const events: AgentEvent[] = [];
      const over = new AbortController();
      for await (const event of reader.attach("t", { signal: over.signal, onCaughtUp: () => over.abort() })) events.push(event);
      return factsOf(events);
    };
    const before = (await readAll()).length;
    const leave = new AbortController();
    const followers: { readonly caughtUp: Promise<void>; readonly events: AgentEvent[]; readonly over: Promise<void> }[] = [];
    const follow = () => {
      const caughtUp = Promise.withResolvers<void>();
      const events: AgentEvent[] = [];
      const over = (async () => {
        const options = { from: "now", signal: leave.signal, onCaughtUp: caughtUp.resolve } as const;
        for await (const event of reader.attach("t", options)) events.push(event);
      })();
      followers.push({ caughtUp: caughtUp.promise, events, over });
    };
    const ids: string[] = [];
    for (let nth = 1; nth < RUNS; nth++) ids.push((await worker.start({ thread: "t", input: `${nth}` })).runId);
    // They come while runs are at work.
    for (let nth = 0; nth < 12; nth++) {
      follow();
      await followers.at(-1)?.caughtUp;
    }
    for (const id of ids) await worker.wait(id);
    const facts = await readAll();
    for (const { events } of followers) {
      await expect.poll(() => factsOf(events).at(-1) ?? facts.at(-1)).toEqual(facts.at(-1));
      const heard = factsOf(events);
      expect(heard).toEqual(facts.slice(facts.length - heard.length));
      expect(heard.length).toBeLessThanOrEqual(facts.length - before);
    }
    leave.abort();
    await Promise.all(followers.map(({ over }) => over));
  });
});

describe.each(STORES)("what a commit puts on another thread, on %s", (_, make) => {
  test("server-and-durability 62: is there once though its answer was lost, comes again after its lease, and the first owner's ack fails", async () => {
    await using shared = make();
    // It was done, and is looked up.
    let lost = 0;
    const store: QueueStore = {
      ...shared,
      commit: async (given) => {
        const result = await shared.commit(given);
        if (given.outbound?.some(({ dispatch }) => dispatch !== undefined) !== true || lost++ > 0) return result;
        throw new AwakenError("commit_unknown", "the cable was cut");
      },
    };
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    const agents = { default: { model: "fast", delegates: ["clerk"], tools: [] }, clerk: { model: "fast", tools: ["pay"] } };
    const init = { agents, tools: [pay] };
    await using first = open(store, [toolCall("agent_run_clerk", { prompt: "go" }), toolCall("pay", {})], init);
    const waiting = await first.run({ thread: "t", input: "x" });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    // A child that waits to be decided, and a parent that waits for it: its last commit wakes the parent.
    const child = (await store.runs.load(ticket?.runId ?? runId("none"))) ?? expect.fail();
    const { threadId: thread, runId: asking } = child;
    const decision = { id: decisionId("w"), action: "approve", decidedAt: 1 } as const;
    const wish = { type: "decision", threadId: thread, runId: asking, ticketId: ticket?.id ?? ticketId("none"), decision } as const;
    await store.wishes.append(wish, { resume: true });
    const late = held(text("too late"));
    await using old = open(store, [text("clerk paid"), late.turn], { ...init, workers: true, concurrency: 1 });
    await late.began;
    expect(lost).toBe(1);
    const woken = async () => (await dispatches(store)).filter(({ dispatchId: id }) => id.startsWith("wake:"));
    expect(await woken()).toMatchObject([{ status: "claimed", attemptCount: 0 }]);
    await takeAway(store);
    const now = held(text("all is paid"));
    await using next = open(store, [now.turn], { ...init, workers: true });
    await now.began;
    const before = await woken();
    expect(before).toMatchObject([{ status: "claimed", attemptCount: 1 }]);
    late.release();
    await old.close();
    expect(await woken()).toEqual(before);
    now.release();
    expect(await next.wait(waiting.runId)).toMatchObject({ status: "done", text: "all is paid" });
    expect(await woken()).toMatchObject([{ status: "acked", attemptCount: 1 }]);
  });
});

describe.each(STORES)("runs that are queued on one thread, on %s", (_, make) => {
  test("server-and-durability 36: keep their order when the store fails the first of them before it began", async () => {
    await using shared = make();
    let left = 1;
    const store: QueueStore = {
      ...shared,
      commit: async (given) => {
        if (given.runId === "r1" && given.fence !== undefined && left-- > 0) throw new AwakenError("storage_io", "the disk is full");
        return shared.commit(given);
      },
    };
    await using talker = open(shared, []);
    for (const id of ["r1", "r2"]) await talker.start({ thread: "t", input: id, runId: id });
    const answer: ScriptStep = ({ messages }) => text(`${messages.map(messageText).at(-1)} answered`);
    await using worker = open(store, [answer, answer], { workers: true });
    expect(await worker.wait("r2")).toMatchObject({ status: "done" });
    const { items } = await store.messages.list(T, {});
    expect(items.map(({ message }) => messageText(message))).toEqual(["r1", "r1 answered", "r2", "r2 answered"]);
    expect((await dispatches(store)).map(({ attemptCount }) => attemptCount)).toEqual([1, 0]);
  });
});

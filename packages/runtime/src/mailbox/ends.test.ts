import { type AgentEvent, AwakenError, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Clock } from "../stream/clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

/** Refuses the first so many commits that end a run. */
function refusingEnds(store: QueueStore, times: number): QueueStore {
  let left = times;
  return {
    ...store,
    commit: async (given) => {
      if (given.dispatch?.type === "ack" && left-- > 0) throw new AwakenError("storage_io", "the disk is full");
      return store.commit(given);
    },
  };
}

/** Fails the first so many commits in the midst of a run. */
function failingInMidst(store: QueueStore, times = 1): QueueStore {
  let left = times;
  return {
    ...store,
    commit: async (given) => {
      const isMidst = given.fence !== undefined && given.dispatch === undefined && given.run !== undefined && given.run.steps > 0;
      if (isMidst && left-- > 0) throw new AwakenError("storage_io", "the database is starting up");
      return store.commit(given);
    },
  };
}

const DOWN = (): never => {
  throw new AwakenError("storage_io", "the database is shutting down");
};

/** Is gone from the first commit in the midst of a run on, until it was asked so often for how things stand. */
function gone(store: QueueStore, asks: number): QueueStore {
  const inMidst = failingInMidst(store);
  let isDown = false;
  let left = asks;
  const unlessDown = <A extends readonly unknown[], R>(call: (...given: A) => Promise<R>) => {
    return async (...given: A): Promise<R> => (isDown ? DOWN() : call(...given));
  };
  return {
    ...store,
    commit: unlessDown((given) =>
      inMidst.commit(given).catch((thrown: unknown) => {
        isDown = true;
        throw thrown;
      }),
    ),
    dispatches: { ...store.dispatches, nack: unlessDown(store.dispatches.nack), extendLease: unlessDown(store.dispatches.extendLease) },
    queue: { ...store.queue, listDue: unlessDown(store.queue.listDue), listConsumers: unlessDown(store.queue.listConsumers) },
    runs: {
      ...store.runs,
      load: async (id) => {
        if (isDown && left-- > 0) DOWN();
        isDown = false;
        return store.runs.load(id);
      },
    },
  };
}

/** Time as it is, and waits a hundredth of what they are. */
const quick: Clock = {
  now: () => Date.now(),
  timer: (ms, fire) => {
    const handle = setTimeout(fire, ms / 100);
    return () => clearTimeout(handle);
  },
};

const add = defineTool({ id: "add", description: "", input: z.object({}), pure: true, execute: () => "2" });
const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
const TWO_STEPS = [toolCall("add", {}), toolCall("add", {}), text("done")];

describe.each(STORES)("a run in whose midst the store fails for a moment, on %s", (_, make) => {
  test("server-and-durability 29: is tried again from its last commit, and does not end with that", async () => {
    await using store = make();
    await using runtime = open(failingInMidst(store), TWO_STEPS, { tools: [add] });
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "done" });
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 1 }]);
  });

  test("server-and-durability 29: also when somebody waits for his own: he gets the end that it comes to, and is told of no other", async () => {
    await using store = make();
    await using runtime = open(failingInMidst(store), TWO_STEPS, { tools: [add] });
    const run = runtime.stream({ thread: "t", input: "x" });
    const told: AgentEvent[] = [];
    for await (const event of run) told.push(event);
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(told.filter(({ type }) => type === "run-end")).toMatchObject([{ termination: { type: "natural-end" } }]);
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 1 }]);
    expect(await store.runs.load(run.id)).toMatchObject({ status: "done", outcome: { termination: { type: "natural-end" } } });
  });

  test("and one that a decision took up", async () => {
    await using store = make();
    const tools = [pay, add];
    await using first = open(store, [toolCall("pay", {})], { tools, workers: false });
    const waiting = await first.run({ thread: "t", input: "x" });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    await using next = open(failingInMidst(store), [toolCall("add", {}), text("done")], { tools });
    const run = await next.decide(ticket?.id ?? "", { action: "approve" });
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(await store.runs.load(waiting.runId)).toMatchObject({ status: "done", outcome: { termination: { type: "natural-end" } } });
  });

  test("is left to processes with workers where there are none, and whoever waits for it is told that it goes on", async () => {
    await using store = make();
    await using first = open(failingInMidst(store), TWO_STEPS, { tools: [add], workers: false });
    const told = { code: "storage_io", message: expect.stringContaining("a process with workers goes on with run 'r'") };
    expect(await first.run({ thread: "t", input: "x", runId: "r" })).toMatchObject({ status: "failed", error: told });
    expect(await store.runs.load(runId("r"))).toMatchObject({ status: "running" });
    await using worker = open(store, [text("done")], { tools: [add] });
    expect(await worker.wait("r")).toMatchObject({ status: "done", text: "done" });
  });

  test("is followed also when the store is gone for so long that it cannot be given back", async () => {
    await using store = make();
    await using runtime = open(gone(store, 3), TWO_STEPS, { tools: [add], clock: quick, limits: { storeMs: 3_600_000 } });
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ status: "done", text: "done" });
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 1 }]);
  });

  test("also when it cannot put on record that a call with an effect is about to run: the call runs once", async () => {
    await using store = make();
    const begun: string[] = [];
    const effect = defineTool({ id: "effect", description: "", input: z.object({}), execute: () => void begun.push("effect") });
    let left = 1;
    const failing: QueueStore = {
      ...store,
      commit: async (given) => {
        if ((given.ledger?.claims.length ?? 0) > 0 && left-- > 0) throw new AwakenError("storage_io", "the database is starting up");
        return store.commit(given);
      },
    };
    await using runtime = open(failing, [toolCall("effect", {}), toolCall("effect", {}), text("done")], { tools: [effect] });
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ status: "done", text: "done" });
    expect(begun).toEqual(["effect"]);
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 1 }]);
  });

  test("is told to stop by the signal of whoever waits for it, wherever it goes on", async () => {
    await using store = make();
    const [away, controller] = [Promise.withResolvers<void>(), new AbortController()];
    const lasting = () => {
      away.resolve();
      return { items: [{ type: "until", promise: new Promise<void>(() => {}) } as const] };
    };
    const turns = [toolCall("add", {}), toolCall("add", {}), lasting];
    await using runtime = open(failingInMidst(store), turns, { tools: [add] });
    const running = runtime.run({ thread: "t", input: "x", signal: controller.signal });
    await away.promise;
    controller.abort();
    expect(await running).toMatchObject({ status: "cancelled" });
  });

  test("and fails with that when there is no other try", async () => {
    await using store = make();
    await using runtime = open(failingInMidst(store), TWO_STEPS, { tools: [add], maxAttempts: 1 });
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ status: "failed", error: { code: "storage_io" } });
  });
});

describe.each(STORES)("a run whose last commit fails, on %s", (_, make) => {
  test("server-and-durability 29: whoever waits for it is told its end, and not of the try that failed", async () => {
    await using store = make();
    await using runtime = open(refusingEnds(store, 1), [text("lost"), text("kept")]);
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "kept" });
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 1 }]);
  });

  test("also when it was begun in the foreground", async () => {
    await using store = make();
    await using runtime = open(refusingEnds(store, 1), [text("lost"), text("kept")]);
    const run = runtime.stream({ thread: "t", input: "x", runId: "r" });
    const told: AgentEvent[] = [];
    for await (const event of run) told.push(event);
    expect(told.filter(({ type }) => type === "run-end")).toMatchObject([{ termination: { type: "natural-end" } }]);
    expect(await run.result).toMatchObject({ status: "done", text: "kept" });
    expect(await runtime.wait("r")).toMatchObject({ status: "done", text: "kept" });
  });

  test.each(["in the foreground", "by its signal", "from the queue"])("and that was told to stop stays so, %s", async (from) => {
    await using store = make();
    const began = Promise.withResolvers<void>();
    const lasting = defineTool({
      id: "lasting",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: (_input, { signal }) => {
        began.resolve();
        return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("stopped")));
      },
    });
    await using runtime = open(refusingEnds(store, 1), [toolCall("lasting", {}), text("went on")], { tools: [lasting] });
    const request = { thread: "t", input: "x", runId: "r" };
    const controller = new AbortController();
    const begun =
      from === "from the queue" ? runtime.start(request) : runtime.run({ ...request, signal: controller.signal }).catch(() => {});
    await began.promise;
    if (from === "by its signal") controller.abort();
    else expect(await runtime.cancel("r")).toBe(true);
    await begun;
    await expect.poll(() => store.runs.load(runId("r"))).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
  });

  test("server-and-durability 32: on its last try is a dead letter and over, in the foreground and from the queue", async () => {
    await using store = make();
    await using runtime = open(refusingEnds(store, 2), [text("lost"), text("lost")], { maxAttempts: 1 });
    const over = { status: "done", outcome: { termination: { type: "error", code: "dead_letter" } } };
    await runtime.run({ thread: "t", input: "x", runId: "r1" });
    expect(await store.runs.load(runId("r1"))).toMatchObject(over);
    await runtime.start({ thread: "t", input: "x", runId: "r2" });
    expect(await runtime.wait("r2")).toMatchObject({ status: "failed", error: { code: "dead_letter" } });
    expect((await runtime.deadLetters.list()).items.map((letter) => letter.runId)).toEqual(["r1", "r2"]);
  });

  test("and whose process is gone on the last try ends with the dead letter, whoever finds it", async () => {
    await using store = make();
    const [atEnd, cut] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const dying: QueueStore = {
      ...store,
      commit: async (given) => {
        if (given.dispatch?.type === "ack") {
          atEnd.resolve();
          await cut.promise;
        }
        return store.commit(given);
      },
    };
    const node = (name: string, gone: readonly string[] = []) => ({ name, isGone: (other: string) => gone.includes(other) });
    const first = open(dying, [text("lost")], { maxAttempts: 1, workers: false, node: node("first") });
    const lost = first.run({ thread: "t", input: "x", runId: "r" });
    await atEnd.promise;
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "claimed" }]);
    await using next = open(store, [text("hello")], { workers: false, node: node("next", ["first"]) });
    expect(await next.run({ thread: "t", input: "y" })).toMatchObject({ status: "done", text: "hello" });
    expect(await store.runs.load(runId("r"))).toMatchObject({
      status: "done",
      outcome: { termination: { type: "error", code: "dead_letter" } },
    });
    cut.resolve();
    await lost;
    await first.close();
  });
});

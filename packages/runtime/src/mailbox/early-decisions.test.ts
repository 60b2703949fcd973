import { type AgentEvent, openTicketsOf, runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import type { RunStream } from "../run/run-stream.ts";
import { parts, text, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

const R = runId("r");
const APPROVE = { action: "approve", run: R } as const;
const say = (delta: string) => ({ type: "text-delta", delta }) as const;
const call = (name: string, id: string) => ({ name, input: {}, id });

/** `pay` asks when it is let; `look` never does, and lasts until then. */
function world() {
  const paid: string[] = [];
  const gate = Promise.withResolvers<void>();
  const pay = defineTool({
    id: "pay",
    description: "",
    input: z.object({}),
    approve: async () => {
      await gate.promise;
      return ask("Pay?");
    },
    execute: (_, { callId }) => {
      paid.push(callId);
      return "paid";
    },
  });
  const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => gate.promise });
  return { paid, tools: [pay, look], let: gate.resolve };
}

function open(store: QueueStore | undefined, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    log: { warn() {}, error() {} },
    ...(store === undefined ? {} : { store, workers: false }),
    ...init,
  });
}

/** Reads to the end, and does this at the first event of a kind. */
async function at(run: AsyncIterable<AgentEvent>, type: AgentEvent["type"], work: () => Promise<unknown>): Promise<void> {
  let isDone = false;
  for await (const event of run) {
    if (event.type !== type || isDone) continue;
    isDone = true;
    await work();
  }
}

const isUsed = async (store: QueueStore, id: string): Promise<boolean | undefined> => {
  const wish = await store.wishes.load(id);
  if (wish === undefined || wish.takenAt === undefined) return undefined;
  return (await store.runs.load(wish.runId))?.decided.some(({ decisionId }) => decisionId === id) === true;
};

describe.each(STORES)("decisions about calls that do not wait yet, on %s", (_, make) => {
  test("registry-and-runtime 44: they are rows of the run until it takes them, at once when the calls wait", async () => {
    await using store = make();
    const { paid, tools, let: letAsk } = world();
    await using runtime = open(store, [toolCalls([call("pay", "c1"), call("pay", "c2")]), text("over")], { tools });
    const run = runtime.stream({ thread: "t", runId: R, input: "go" });
    await at(run, "tool-call-ready", async () => {
      const both = ["c1", "c2"].map((ticket) => ({ ticket, decision: { ...APPROVE, id: `d-${ticket}` } }));
      await runtime.decideAll(both);
      expect(await store.wishes.listOpen(R)).toMatchObject([
        { wishId: "d-c1", ticketId: "c1", batchId: "d-c1" },
        { wishId: "d-c2", ticketId: "c2", batchId: "d-c1" },
      ]);
      await runtime.decideAll(both);
      letAsk();
    });
    expect(await run.result).toMatchObject({ status: "done", text: "over" });
    expect(paid.sort()).toEqual(["c1", "c2"]);
    expect([await isUsed(store, "d-c1"), await isUsed(store, "d-c2")]).toEqual([true, true]);
  });

  test("registry-and-runtime 44: whichever process they are made in, the one that executes the run takes them", async () => {
    await using store = make();
    const { paid, tools, let: letAsk } = world();
    await using runtime = open(store, [toolCalls([call("pay", "c1"), call("pay", "c2")]), text("over")], { tools });
    await using other = open(store, [], { tools });
    const run = runtime.stream({ thread: "t", runId: R, input: "go" });
    const decisions = ["c1", "c2"].map((ticket) => ({ ticket, decision: { ...APPROVE, id: `d-${ticket}` } }));
    let followed: RunStream | undefined;
    await at(run, "tool-call-ready", async () => {
      followed = await other.decideAll(decisions);
      expect((await store.wishes.listOpen(R)).map(({ wishId }) => wishId)).toEqual(["d-c1", "d-c2"]);
      letAsk();
    });
    expect(await run.result).toMatchObject({ status: "done", text: "over" });
    expect(await followed?.result).toMatchObject({ status: "done", text: "over" });
    expect(paid.sort()).toEqual(["c1", "c2"]);
    expect([await isUsed(store, "d-c1"), await isUsed(store, "d-c2")]).toEqual([true, true]);
    // They are about a run that is over by now, and known: nothing comes of saying it once more.
    expect(await (await other.decideAll(decisions)).result).toMatchObject({ status: "done", text: "over" });
    await expect(other.decide("c3", APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
    expect(paid).toHaveLength(2);
  });

  test("registry-and-runtime 44: one that the run ends without has no effect, and is on record as unused", async () => {
    await using store = make();
    const { paid, tools } = world();
    const { promise, resolve } = Promise.withResolvers<void>();
    const last = parts(say("ov"), { type: "until", promise }, say("er"), { type: "stop", reason: "end-turn" });
    await using runtime = open(store, [last], { tools });
    const run = runtime.stream({ thread: "t", runId: R, input: "go" });
    await at(run, "run-start", async () => {
      await runtime.decide("c1", { ...APPROVE, id: "d1" });
      resolve();
    });
    expect(await run.result).toMatchObject({ status: "done" });
    expect([paid, await isUsed(store, "d1")]).toEqual([[], false]);
  });

  test("one that was made for a step reaches no call of a later one, and can be made again about that", async () => {
    await using store = make();
    const { paid, tools, let: letAsk } = world();
    await using runtime = open(store, [toolCalls([call("look", "c0")]), toolCalls([call("pay", "c1")]), text("over")], { tools });
    const run = runtime.stream({ thread: "t", runId: R, input: "go" });
    await at(run, "tool-call-ready", async () => {
      await runtime.decide("c1", { ...APPROVE, id: "d1" });
      letAsk();
    });
    const waiting = await run.result;
    expect(ticketsOf(waiting)).toMatchObject([{ toolCallId: "c1" }]);
    expect([paid, await isUsed(store, "d1")]).toEqual([[], false]);
    expect(await (await runtime.decide("c1", { ...APPROVE, id: "d2" })).result).toMatchObject({ status: "done", text: "over" });
    expect(paid).toEqual(["c1"]);
  });

  test("registry-and-runtime 42: of two that were made together, one about a call that never comes, none is taken", async () => {
    await using store = make();
    const { paid, tools, let: letAsk } = world();
    await using runtime = open(store, [toolCalls([call("pay", "c1")]), text("over")], { tools });
    const run = runtime.stream({ thread: "t", runId: R, input: "go" });
    await at(run, "tool-call-ready", async () => {
      await runtime.decideAll(["c1", "never"].map((ticket) => ({ ticket, decision: { ...APPROVE, id: `d-${ticket}` } })));
      letAsk();
    });
    expect(ticketsOf(await run.result)).toMatchObject([{ toolCallId: "c1" }]);
    expect([paid, await isUsed(store, "d-c1"), await isUsed(store, "d-never")]).toEqual([[], false, false]);
    expect(await store.dispatches.list(run.threadId, { statuses: ["queued"] })).toEqual([]);
  });

  test("one that comes while the run parks is refused when its call is not there, and the run waits on", async () => {
    await using inner = make();
    const [parks, isKept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const commit: QueueStore["commit"] = async (given) => {
      if (given.run?.status === "waiting") {
        parks.resolve();
        await isKept.promise;
      }
      return inner.commit(given);
    };
    const { paid, tools, let: letAsk } = world();
    letAsk();
    await using runtime = open({ ...inner, commit }, [toolCalls([call("pay", "c1")]), text("over")], { tools, workers: true });
    const run = runtime.stream({ thread: "t", runId: R, input: "go" });
    await parks.promise;
    await runtime.decide("never", { ...APPROVE, id: "d1" });
    isKept.resolve();
    await expect.poll(() => isUsed(inner, "d1")).toBe(false);
    await expect.poll(async () => (await inner.dispatches.list(run.threadId, { statuses: ["queued", "claimed"] })).length).toBe(0);
    const record = await inner.runs.load(R);
    expect(record === undefined ? [] : openTicketsOf(record)).toMatchObject([{ toolCallId: "c1" }]);
    expect([paid, record?.status]).toEqual([[], "waiting"]);
  });
});

/** `slow` waits for a decision when it is let; `quick` beside it is over at once. */
function lasting() {
  const [began, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    execute: async (_, { resume }) => {
      if (resume !== undefined) return "decided";
      began.resolve();
      await gate.promise;
      return wait({ action: "confirm" });
    },
  });
  const quick = defineTool({ id: "quick", description: "", input: z.object({}), execute: () => "quick" });
  return { tools: [slow, quick], began: began.promise, let: gate.resolve };
}

describe.each(["without a store", "in the process of the run", "in another process"])("a decision about a call under way, %s", (place) => {
  test.each([
    ["has begun", false],
    ["is listed, beside one that is over", true],
  ])("registry-and-runtime 44: is kept while the call %s, and taken when it waits", async (_, isListed) => {
    const store = place === "without a store" ? undefined : memoryStore();
    const { tools, began, let: letWait } = lasting();
    await using runtime = open(store, [toolCalls([call("slow", "c1"), call("quick", "c2")]), text("over")], { tools });
    await using other = open(store, [], { tools });
    const run = runtime.stream({ thread: "t", runId: R, input: "go" });
    const decide = async () => {
      await began;
      await (place === "in another process" ? other : runtime).decide("c1", { ...APPROVE, id: "d1" });
      letWait();
    };
    // The end of the quick one is told while the slow one lasts: all calls of the step are listed then.
    await at(run, isListed ? "tool-call-end" : "tool-call-run", decide);
    expect(await run.result).toMatchObject({ status: "done", text: "over" });
  });
});

test("a list that was on its way when a step refused a decision does not bring it back to a later step", async () => {
  await using store = memoryStore();
  const { tools, let: letAsk } = world();
  const arrival = Promise.withResolvers<void>();
  let isLate = false;
  const listOpen: QueueStore["wishes"]["listOpen"] = async (run) => {
    const found = await store.wishes.listOpen(run);
    if (isLate) await arrival.promise;
    return found;
  };
  const late = { ...store, wishes: { ...store.wishes, listOpen } };
  await using runtime = open(late, [toolCalls([call("look", "c0")]), toolCalls([call("pay", "c1")]), text("over")], { tools });
  const run = runtime.stream({ thread: "t", runId: R, input: "go" });
  let second: Promise<unknown> | undefined;
  for await (const event of run) {
    if (event.type === "tool-call-ready" && second === undefined) {
      await runtime.decide("c1", { ...APPROVE, id: "d1" });
      isLate = true;
      second = runtime.decide("c9", { ...APPROVE, id: "d2" });
      await expect.poll(() => store.wishes.load("d2")).toBeDefined();
      letAsk();
    }
    if (event.type === "step-start" && event.step === 2) {
      expect(await isUsed(store, "d1")).toBe(false);
      arrival.resolve();
    }
  }
  await second;
  expect(ticketsOf(await run.result)).toMatchObject([{ toolCallId: "c1" }]);
  expect([await isUsed(store, "d1"), await isUsed(store, "d2")]).toEqual([false, false]);
});

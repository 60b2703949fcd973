import { type AgentEvent, messageText, type RunId, type RunRecord, runId, threadId } from "@awaken/contract";
import type { ScopedStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { office, works } from "../builtin/background/tasks.test-support.ts";
import { seldom as commitSeldom } from "../commit/seldom-door.ts";
import { createRuntime } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { defineState } from "../state/key.ts";
import { schemas } from "../state/late-schema.ts";
import type { Door } from "../stream/door.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply, wait } from "../tool/reply.ts";
import type { Tool } from "../tool/tool.ts";
import { ask } from "../tool/verdict.ts";
import { GONE, gone, notYet } from "./gone.test-support.ts";
import { moreRoom } from "./more-door.ts";
import { seldom } from "./seldom-door.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const childrenOf = async (store: ScopedStore, parentRunId: RunId): Promise<readonly RunRecord[]> =>
  (await store.runs.list({ parentRunId })).items;

const statuses = async (store: ScopedStore, parent: RunId) => (await childrenOf(store, parent)).map(({ status }) => status);

const SOON = { timeout: 5_000 };

describe("what cannot be ended is not begun", () => {
  test.each([
    ["code", "spawn"],
    ["an agent", "spawnAgent"],
    ["a message", "send"],
  ])("%s in the background, without the part that ends it with its run", async (_, kind) => {
    const store = memoryStore();
    const { runtime, does } = office({ lead: [works, text("done"), works, text("done")], aide: [text("hi")] }, { store, workers: false });
    const begun: string[] = [];
    const thrown: unknown[] = [];
    does(async ({ tasks, sendMessage }) => {
      try {
        if (kind === "spawn") await tasks.spawn({ name: "code" }, async () => void begun.push("code"));
        else if (kind === "spawnAgent") await tasks.spawnAgent({ agent: "aide", input: "help" });
        else await sendMessage({ relation: "agent", threadId: "other" }, "hello");
      } catch (why) {
        thrown.push(why);
      }
    });
    gone(seldom);
    const run = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    expect(run).toMatchObject({ status: "done", text: "done" });
    expect(thrown).toMatchObject([GONE]);
    expect([begun, await childrenOf(store, run.runId)]).toEqual([[], []]);
    vi.restoreAllMocks();
    await runtime.run({ agent: "lead", thread: "t2", input: "go" });
    expect(thrown).toHaveLength(1);
    await runtime.close();
  });
});

test("an agent in the background stops with the run that began it, also when the files of the program went meanwhile", async () => {
  const store = memoryStore();
  const { runtime, does } = office({ lead: [works], aide: [] }, { store, workers: false });
  const begun = Promise.withResolvers<void>();
  does(async ({ tasks, signal }) => {
    await tasks.spawnAgent({ agent: "aide", input: "help" });
    begun.resolve();
    await new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
  });
  const leave = notYet(seldom);
  const run = runtime.stream({ agent: "lead", thread: "t", input: "go" });
  await begun.promise;
  leave();
  await runtime.cancel(run.id);
  expect(await run.result).toMatchObject({ status: "cancelled" });
  vi.restoreAllMocks();
  await runtime.close();
  // Whoever works next on what is queued finds it cancelled.
  const next = office({ lead: [], aide: [text("hi")] }, { store });
  await expect.poll(() => statuses(store, run.id), SOON).toEqual(["done"]);
  expect((await childrenOf(store, run.id))[0]).toMatchObject({ outcome: { termination: { type: "cancelled" } } });
  expect(next.models["aide"]?.requests).toEqual([]);
  await next.runtime.close();
});

describe("what was done is kept where a part is gone", () => {
  const told = (events: readonly AgentEvent[]) =>
    events.flatMap((event) => (event.type === "tool-call-end" ? [`${event.toolName} ${event.outcome}`] : []));

  async function play(tools: readonly Tool[], door: Door<unknown>) {
    const calls: ScriptStep = toolCalls(tools.map(({ id }) => ({ name: id, input: {} })));
    const store = memoryStore();
    const runtime = createRuntime({
      providers: { main: scripted([calls, text("done")]) },
      models: { fast: { provider: "main", model: "m" } },
      agents: { plain: { model: "fast" } },
      log: { warn() {}, error() {} },
      workers: false,
      tools,
      store,
    });
    gone(door);
    const run = runtime.stream({ agent: "plain", thread: "t", input: "go" });
    const events: AgentEvent[] = [];
    for await (const event of run) events.push(event);
    const result = await run.result;
    vi.restoreAllMocks();
    const ledger = (await store.ledger.list(run.id)).map((entry) => `${entry.toolName} ${entry.status}`);
    await runtime.close();
    return { result, ends: told(events), ledger };
  }

  const after = (id: string, ms: number) =>
    defineTool({
      id,
      description: "",
      input: z.object({}),
      execute: () => new Promise<string>((done) => setTimeout(done, ms, id)),
    });

  test("by calls of a round that lasts", async () => {
    const { result, ends, ledger } = await play([after("slow", 500), after("quick", 1), after("slower", 600)], seldom);
    expect(result).toMatchObject({ status: "done", text: "done" });
    expect(ends).toEqual(["quick succeeded", "slow succeeded", "slower succeeded"]);
    expect(ledger).toEqual(["slow finished", "quick finished", "slower finished"]);
  });

  test("by calls beside one that cannot wait: that fails the run", async () => {
    const asks = defineTool({
      id: "asks",
      description: "",
      input: z.object({}),
      execute: () => wait({ action: "ask", message: "Sure?", parameters: {}, resumeMode: "replay-tool-call" }),
    });
    const { result, ends } = await play([asks, after("book", 1), after("late", 400)], seldom);
    expect(result).toMatchObject({ status: "failed", error: GONE });
    expect([...ends].sort()).toEqual(["asks failed", "book succeeded", "late succeeded"]);
  });

  test("by a call whose command cannot be read, and one beside it: that fails the run", async () => {
    const count = defineState("count", { schema: z.number(), initial: () => 0, apply: (_value: number, next: number) => next });
    const notes = defineTool({
      id: "notes",
      description: "",
      input: z.object({}),
      state: [count],
      execute: () => reply("noted", { command: command().update(count, 1) }),
    });
    const { result, ends, ledger } = await play([notes, after("book", 1)], schemas);
    expect(result).toMatchObject({ status: "failed", error: GONE });
    expect(ends).toEqual(["notes succeeded", "book succeeded"]);
    expect(ledger).toEqual(["notes finished", "book finished"]);
  });

  test("by whoever sent a message that came too late for the run", async () => {
    const store = memoryStore();
    const look = defineTool({
      id: "look",
      description: "",
      input: z.object({}),
      execute: async () => (await runtime.send("t", "and one more thing")).status,
    });
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => undefined });
    const calls = toolCalls([
      { name: "look", input: {} },
      { name: "pay", input: {} },
    ]);
    const runtime = createRuntime({
      providers: { p: scripted([calls, text("done")]) },
      models: { m: { provider: "p", model: "x" } },
      agents: { a: { model: "m" } },
      tools: [look, pay],
      log: { warn() {}, error() {} },
      workers: false,
      store,
    });
    gone(moreRoom);
    expect((await runtime.run({ thread: "t", input: "go" })).status).toBe("waiting");
    const { items } = await store.messages.list(threadId("t"), {});
    expect(items.flatMap(({ message }) => (message.role === "user" ? [messageText(message)] : []))).toEqual(["go", "and one more thing"]);
    vi.restoreAllMocks();
    await runtime.close();
  });
});

test("a rewind ends the run that waits also in a process that has ended none yet", async () => {
  const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
  const store = memoryStore();
  const runtime = createRuntime({
    providers: { p: scripted([toolCall("pay", {})]) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    tools: [pay],
    log: { warn() {}, error() {} },
    workers: false,
    store,
  });
  const run = await runtime.run({ thread: "t", input: "go" });
  expect(ticketsOf(run)).toHaveLength(1);
  const [first] = (await store.messages.list(threadId("t"), {})).items;
  notYet(commitSeldom);
  const { cancelled } = await runtime.rewind("t", { toMessageId: first?.message.id ?? "" });
  expect(cancelled).toEqual([run.runId]);
  expect(await store.runs.load(runId(run.runId))).toMatchObject({ status: "done" });
  await runtime.close();
});

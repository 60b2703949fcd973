import { dispatchId, messageId, type RunId, type TaskEvent, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { taskMessage } from "../loop/task-message.ts";
import { lostTask, storedTasks } from "../state/task-records.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./open.test-support.ts";
import { NEWS } from "./parent-wake.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

const found = (result: string): TaskEvent => ({ kind: "completed", taskId: "bg_0", result });

/** News for the thread, and a dispatch for the run that waits there, if one does. */
async function post(store: QueueStore, runId: RunId, news: Readonly<Record<string, TaskEvent>>, isWoken: boolean): Promise<void> {
  const append = Object.entries(news).map(([id, event]) => ({ message: taskMessage(messageId(id), event), deliveryMode: NEWS }));
  const dispatch = { type: "enqueue", dispatch: { dispatchId: dispatchId(`d-${append[0]?.message.id}`), threadId: T, runId } } as const;
  await store.commit({ threadId: T, runId, pending: { append }, ...(isWoken ? { dispatch } : undefined) });
}

const told = async (store: QueueStore) =>
  (await store.messages.list(T, { visibility: "all" })).items.flatMap(({ message }) => message.metadata?.task ?? []);

const input = z.object({});

describe.each(STORES)("the end of a task, on %s", (_, make) => {
  test("is told once, also when it was thought to be lost, and comes after all", async () => {
    await using store = make();
    const end = Promise.withResolvers<string>();
    const code = defineTool({
      ...{ id: "code", description: "Starts work", input, idempotent: true },
      execute: (_given, { tasks }) => tasks.spawn({ description: "Searches" }, () => end.promise),
    });
    const finish = defineTool({
      ...{ id: "finish", description: "Lets it end", input, idempotent: true },
      execute: async () => {
        end.resolve("it");
        await new Promise((resolve) => setImmediate(resolve));
        return "over";
      },
    });
    const turns = [toolCall("code", {}), text("wait"), text("read"), toolCall("finish", {}), text("later")];
    await using runtime = open(store, turns, { tools: [code, finish] });
    const { runId, status } = await runtime.run({ thread: "t", input: "find" });
    expect(status).toBe("waiting");
    await post(store, runId, { lost: lostTask("bg_0") }, true);
    await expect.poll(async () => (await store.runs.load(runId))?.status).toBe("done");
    expect(await runtime.run({ thread: "t", input: "and now?" })).toMatchObject({ status: "done" });
    expect(await told(store)).toMatchObject([{ kind: "failed" }]);
    expect((await store.pending.load(T)).entries).toEqual([]);
  });

  test("is read when the calls of the run are over: one that goes on for a decision and still waits takes it neither for lost nor for read", async () => {
    await using store = make();
    const end = Promise.withResolvers<string>();
    const code = defineTool({
      ...{ id: "code", description: "Starts work", input, idempotent: true },
      execute: (_given, { tasks }) => tasks.spawn({ description: "Searches" }, () => end.promise),
    });
    const pay = defineTool({ id: "pay", description: "Pays", input, approve: () => ask("Pay?"), execute: () => "paid" });
    const both = toolCalls([
      { name: "pay", input: {} },
      { name: "pay", input: {} },
    ]);
    await using runtime = open(store, [toolCall("code", {}), both, text("read")], { tools: [code, pay] });
    const waiting = await runtime.run({ thread: "t", input: "find and pay" });
    const [first, second] = ticketsOf(waiting).map(({ id }) => id);
    end.resolve("it");
    await expect.poll(async () => (await store.pending.load(T)).entries.length).toBe(1);
    const between = await (await runtime.decide(first ?? "", { action: "approve" })).result;
    expect(between.status).toBe("waiting");
    expect(await told(store)).toEqual([]);
    const last = await (await runtime.decide(second ?? "", { action: "approve" })).result;
    expect(last).toMatchObject({ status: "done", text: "read" });
    expect(await told(store)).toMatchObject([{ kind: "completed", result: "it" }]);
    expect(storedTasks(await store.threads.loadState(T))).toMatchObject([{ taskId: "bg_0", status: "completed" }]);
  });

  test("is not taken for lost where it waits behind something that lets nothing pass", async () => {
    await using store = make();
    const end = Promise.withResolvers<string>();
    const code = defineTool({
      ...{ id: "code", description: "Starts work", input, idempotent: true },
      execute: (_given, { tasks }) => tasks.spawn({ description: "Searches" }, () => end.promise),
    });
    await using runtime = open(store, [toolCall("code", {}), text("wait"), text("read")], { tools: [code] });
    expect(await runtime.run({ thread: "t", input: "find" })).toMatchObject({ status: "waiting" });
    const inFront = { id: messageId("front"), role: "user", content: [{ type: "text", text: "first" }] } as const;
    await store.pending.append(T, [{ message: inFront, deliveryMode: { barrier: true } }]);
    end.resolve("it");
    await expect.poll(async () => (await store.pending.load(T)).entries.length).toBe(2);
    await expect.poll(async () => (await store.stats()).dispatches).toMatchObject({ queued: 0, claimed: 0 });
    expect(await told(store)).toEqual([]);
    await store.pending.retract(T, inFront.id, 1);
    await runtime.run({ thread: "t", input: "and now?" });
    expect(await told(store)).toMatchObject([{ kind: "completed", result: "it" }]);
  });

  test("is not that of another one by the same id, which nobody put on record", async () => {
    await using store = make();
    const done = Promise.withResolvers<void>();
    const hire = defineTool({
      ...{ id: "hire", description: "Sends somebody out", input, idempotent: true },
      execute: (_given, { tasks }) => tasks.spawnAgent({ agent: "clerk", input: "find" }),
    });
    const clerk: ScriptStep = () => ({ items: [{ type: "until", promise: done.promise }, ...text("found").items] });
    await using runtime = open(store, [], {
      providers: { lead: scripted([toolCall("hire", {}), text("wait"), text("other"), text("own")]), clerk: scripted([clerk]) },
      models: { lead: { provider: "lead", model: "m" }, clerk: { provider: "clerk", model: "m" } },
      agents: { default: { model: "lead" }, clerk: { model: "clerk", description: "Finds" } },
      tools: [hire],
    });
    const { runId } = await runtime.run({ thread: "t", input: "find" });
    await post(store, runId, { "task-end:other": found("of nobody") }, true);
    await expect.poll(async () => (await told(store)).length).toBe(1);
    await expect.poll(async () => (await store.runs.load(runId))?.status).toBe("waiting");
    const isWaiting = storedTasks(await store.threads.loadState(T));
    expect(isWaiting).toMatchObject([{ taskId: "bg_0", status: "running" }]);
    done.resolve();
    await expect.poll(async () => (await store.runs.load(runId))?.status).toBe("done");
    expect(storedTasks(await store.threads.loadState(T))).toMatchObject([{ status: "completed", result: { response: "found" } }]);
  });

  test("settles the task that the run is, also under another id: two attempts of one call gave it two", async () => {
    await using store = make();
    const done = Promise.withResolvers<void>();
    const hire = defineTool({
      ...{ id: "hire", description: "Sends somebody out", input, idempotent: true },
      execute: (_given, { tasks }) => tasks.spawnAgent({ agent: "clerk", input: "find" }),
    });
    const clerk: ScriptStep = () => ({ items: [{ type: "until", promise: done.promise }, ...text("found").items] });
    await using runtime = open(store, [], {
      providers: { lead: scripted([toolCall("hire", {}), text("wait"), text("read")]), clerk: scripted([clerk]) },
      models: { lead: { provider: "lead", model: "m" }, clerk: { provider: "clerk", model: "m" } },
      agents: { default: { model: "lead" }, clerk: { model: "clerk", description: "Finds" } },
      tools: [hire],
    });
    const { runId } = await runtime.run({ thread: "t", input: "find" });
    const [child] = (await store.runs.list({ parentRunId: runId })).items;
    await post(store, runId, { [`task-end:${child?.runId}`]: { ...found("it"), taskId: "bg_7" } }, true);
    await expect.poll(async () => (await store.runs.load(runId))?.status).toBe("done");
    expect(storedTasks(await store.threads.loadState(T))).toMatchObject([{ taskId: "bg_0", status: "completed", result: "it" }]);
    done.resolve();
  });

  test("of which nobody knew takes its id with it: the next one has another", async () => {
    await using store = make();
    let taskId = "";
    const code = defineTool({
      ...{ id: "code", description: "Starts work", input, idempotent: true },
      execute: async (_given, { tasks }) => {
        taskId = await tasks.spawn({ description: "Searches" }, async () => "it");
        return taskId;
      },
    });
    await using runtime = open(store, [text("hello"), text("news"), toolCall("code", {}), text("wait"), text("read")], { tools: [code] });
    const { runId } = await runtime.run({ thread: "t", input: "hello" });
    await post(store, runId, { "task-end:other": found("of nobody") }, false);
    const { runId: reader } = await runtime.start({ thread: "t", input: "what is new?" });
    expect(await runtime.wait(reader)).toMatchObject({ status: "done" });
    const next = await runtime.run({ thread: "t", input: "find" });
    await expect.poll(async () => (await store.runs.load(next.runId))?.status).toBe("done");
    expect(taskId).toBe("bg_1");
    expect(await told(store)).toMatchObject([{ taskId: "bg_0" }, { taskId: "bg_1", result: "it" }]);
  });
});

import { dispatchId, messageId, type RunId, type TaskEvent, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { taskMessage } from "../loop/task-message.ts";
import { lostTask, storedTasks } from "../state/task-records.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
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

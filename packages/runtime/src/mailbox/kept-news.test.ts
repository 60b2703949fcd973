import { type InferenceRequest, messageText, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type Runtime } from "../create-runtime.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { STORES } from "./stores.test-support.ts";

const TOOLS: ReadonlySet<string> = new Set(["hire", "last"]);

/** Calls the tool that people name, and says what it has read last. */
const obedient: ScriptStep = ({ messages }: InferenceRequest) => {
  const last = messages.at(-1);
  const said = last === undefined ? "" : messageText(last);
  return last?.role === "user" && TOOLS.has(said) ? toolCall(said, {}) : text(`read ${said}`);
};

interface Office {
  readonly runtime: Runtime;
  readonly store: QueueStore;
  /** Runs that begin fail, or do so no more. */
  fail(isOn: boolean): void;
}

/** A run is at work on the thread, and a task that was started there is over. */
async function withNews(store: QueueStore): Promise<Office> {
  const [found, began] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const clerk: ScriptStep = () => ({ items: [{ type: "until", promise: found.promise }, ...text("found").items] });
  const input = z.object({});
  const hire = defineTool({
    ...{ id: "hire", description: "Sends somebody out", input, idempotent: true },
    execute: async (_given, { tasks }) => tasks.spawnAgent({ agent: "clerk", input: "find" }),
  });
  const last = defineTool({
    ...{ id: "last", description: "Lasts until it is stopped", input, idempotent: true },
    execute: async (_given, { signal }) => {
      began.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return "stopped";
    },
  });
  let isFailing = false;
  const moody = definePlugin({
    id: "moody",
    register: (r) =>
      r.hook("runStart", () => {
        if (isFailing) throw new Error("not today");
      }),
  });
  const runtime = createRuntime({
    providers: { lead: scripted(new Array<ScriptStep>(20).fill(obedient)), clerk: scripted([clerk]) },
    models: { lead: { provider: "lead", model: "m" }, clerk: { provider: "clerk", model: "m" } },
    plugins: [moody],
    agents: { lead: { model: "lead", plugins: ["moody"] }, clerk: { model: "clerk", description: "Finds" } },
    ...{ tools: [hire, last], store },
  });
  const first = await runtime.start({ agent: "lead", thread: "t", input: "hire" });
  await runtime.start({ agent: "lead", thread: "t", input: "last" });
  await began.promise;
  found.resolve();
  const [task] = (await store.runs.list({ parentRunId: first.runId })).items;
  expect(await runtime.wait(task?.runId ?? "")).toMatchObject({ status: "done", text: "found" });
  return {
    runtime,
    store,
    fail: (isOn) => {
      isFailing = isOn;
    },
  };
}

/** What the thread's log has of the task when one more run is over. */
async function readByNext({ runtime, store }: Office): Promise<readonly string[]> {
  expect(await runtime.run({ agent: "lead", thread: "t", input: "and now?" })).toMatchObject({ status: "done" });
  await runtime.close();
  const { items } = await store.messages.list(threadId("t"), { visibility: "all" });
  return items.flatMap(({ message }) => message.metadata?.task?.kind ?? []);
}

describe.each(STORES)("what became of a task is read by the next run, on %s", (_, make) => {
  test("also when the thread is interrupted", async () => {
    await using store = make();
    const office = await withNews(store);
    expect(await office.runtime.interrupt("t")).toMatchObject({ cancelled: true });
    expect(await readByNext(office)).toEqual(["completed"]);
  });

  test("also when the run that has it in its input fails before its first step", async () => {
    await using store = make();
    const office = await withNews(store);
    const { runtime, fail } = office;
    const { runId: next } = await runtime.start({ agent: "lead", thread: "t", input: "hello" });
    fail(true);
    await runtime.cancelAndWait("t");
    expect(await runtime.wait(next)).toMatchObject({ status: "failed" });
    fail(false);
    expect(await readByNext(office)).toEqual(["completed"]);
  });

  test("also when somebody takes the news back, or edits them: he is refused; they can be moved", async () => {
    await using store = make();
    const office = await withNews(store);
    const { pending } = office.runtime;
    const { messageIds, runId: promised } = await office.runtime.send("t", "hello", { mode: "queue" });
    const [sent = ""] = messageIds;
    const { entries, revision } = await pending.list("t");
    const [news] = entries.filter(({ message }) => message.metadata?.task !== undefined);
    const { pendingId: id, revision: own } = news ?? expect.fail();
    const refusal = { code: "storage_validation", details: { pendingId: id } };
    await expect(pending.retract("t", id, own)).rejects.toMatchObject(refusal);
    await expect(pending.edit("t", id, { revision: own, message: { role: "user", content: "none" } })).rejects.toMatchObject(refusal);
    await expect(pending.edit("t", id, { revision: own, deliveryMode: { targetRunId: runId("x") } })).rejects.toMatchObject(refusal);
    const moved = await pending.reorder("t", [sent, id], revision);
    expect(moved.entries.map(({ pendingId }) => pendingId)).toEqual([sent, id]);
    expect(await office.runtime.cancel(promised ?? "")).toBe(true);
    await office.runtime.cancelAndWait("t");
    expect(await readByNext(office)).toEqual(["completed"]);
  });

  test("also when messages that were sent are taken back", async () => {
    await using store = make();
    const office = await withNews(store);
    const { runId: promised } = await office.runtime.send("t", "hello", { mode: "queue" });
    expect(await office.runtime.cancel(promised ?? "")).toBe(true);
    await office.runtime.cancelAndWait("t");
    expect(await readByNext(office)).toEqual(["completed"]);
  });
});

import { type InferenceRequest, messageText } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

/** Hires somebody first, then does what it was told beside something that lasts. */
const lead: ScriptStep = ({ messages }: InferenceRequest) => {
  const last = messages.at(-1);
  const said = messages.findLast(({ role, visibility }) => role === "user" && visibility !== "internal");
  if (last === said) return toolCall("hire", {});
  if (last?.role !== "tool" || messageText(last) !== "hired") return text(`read ${last === undefined ? "" : messageText(last)}`);
  const call =
    said !== undefined && messageText(said) === "pay" ? { name: "pay", input: {} } : { name: "agent_run_clerk", input: { prompt: "pay" } };
  return toolCalls([call, { name: "last", input: {} }]);
};

const clerk: ScriptStep = ({ messages }: InferenceRequest) =>
  messages.at(-1)?.role === "user" ? toolCall("pay", {}) : text("clerk is done");

function office(store: QueueStore) {
  const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const input = z.object({});
  const pay = defineTool({ id: "pay", description: "Pays", input, approve: () => ask("Pay?"), execute: () => "paid" });
  const lasting = defineTool({
    ...{ id: "last", description: "Lasts", input, pure: true },
    execute: async () => {
      reached.resolve();
      await goOn.promise;
      return "lasted";
    },
  });
  const hire = defineTool({
    ...{ id: "hire", description: "Starts work", input, idempotent: true },
    execute: async (_, { tasks }) => {
      await tasks.spawnAgent({ agent: "helper", input: "help" });
      return "hired";
    },
  });
  const many = (step: ScriptStep) => scripted(new Array<ScriptStep>(20).fill(step));
  // It is at work until the run is: news that come between two of its steps are read there, and nothing of this would happen.
  const helper = () => ({ items: [{ type: "until", promise: reached.promise } as const, ...text("helped").items] });
  const runtime = createRuntime({
    providers: { lead: many(lead), clerk: many(clerk), helper: many(helper) },
    models: { l: { provider: "lead", model: "m" }, c: { provider: "clerk", model: "m" }, h: { provider: "helper", model: "m" } },
    agents: {
      lead: { model: "l", delegates: ["clerk"] },
      clerk: { model: "c", description: "Pays" },
      helper: { model: "h", description: "Helps" },
    },
    tools: [pay, lasting, hire],
    store,
  });
  return { runtime, reached: reached.promise, goOn: goOn.resolve };
}

const moment = () => new Promise((resolve) => setTimeout(resolve, 2));

describe.each(STORES)("news that nobody asked about begin no run beside one that waits, on %s", (_, make) => {
  test.each(["pay", "delegate"])("where it waits for %s, it reads them when it goes on", async (order) => {
    await using store = make();
    const { runtime, reached, goOn } = office(store);
    const { runId, threadId } = await runtime.start({ agent: "lead", thread: "t", input: order });
    await reached;
    // Somebody is queued behind the run, and takes back what he said; what became of the task is there when it is his turn.
    const { messageIds } = await runtime.send("t", "never mind", { mode: "queue" });
    while ((await store.pending.load(threadId)).entries.length < 2) await moment();
    const said = (await runtime.pending.list("t")).entries.find(({ pendingId }) => pendingId === messageIds[0]);
    await runtime.pending.retract("t", said?.pendingId ?? "", said?.revision ?? 0);
    goOn();
    while ((await store.stats()).dispatches.queued + (await store.stats()).dispatches.claimed > 0) await moment();
    const open = await store.runs.list({ statuses: ["created", "running", "waiting"] });
    expect(open.items.filter((run) => run.threadId === threadId).map((run) => run.runId)).toEqual([runId]);
    const [ticket] = open.items.flatMap((run) => (run.status === "waiting" ? run.waiting.tickets : []));
    await (await runtime.decide(ticket?.id ?? "", { action: "approve" })).result;
    while ((await runtime.wait(runId)).status === "waiting") await moment();
    expect(await store.runs.count({ statuses: ["created", "running", "waiting"] })).toBe(0);
    const { items } = await store.messages.list(threadId, { visibility: "all" });
    expect(items.flatMap(({ message }) => message.metadata?.task ?? [])).toMatchObject([{ kind: "completed", taskId: "bg_0" }]);
    await runtime.close();
  });
});

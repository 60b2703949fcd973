import { type InferenceRequest, messageText } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

/** Calls the tool that people name, and says what it has read last. */
const obedient: ScriptStep = ({ messages }: InferenceRequest) => {
  const last = messages.at(-1);
  const said = last === undefined ? "" : messageText(last);
  if (last?.role !== "user" || last.visibility === "internal") return text(`read ${said}`);
  if (said === "delegate") return toolCall("agent_run_clerk", { prompt: "pay" });
  return said === "pay" || said === "hire" ? toolCall(said, {}) : text(`heard ${said}`);
};

function office(store: ReturnType<(typeof STORES)[number][1]>) {
  const task = Promise.withResolvers<string>();
  const input = z.object({});
  const pay = defineTool({ id: "pay", description: "Pays", input, approve: () => ask("Pay?"), execute: () => "paid" });
  const hire = defineTool({
    ...{ id: "hire", description: "Starts work", input, idempotent: true },
    execute: async (_, { tasks }) => {
      await tasks.spawn({ name: "work" }, () => task.promise);
      return "hired";
    },
  });
  const init: RuntimeInit = {
    providers: { scripted: scripted(new Array<ScriptStep>(50).fill(obedient)) },
    models: { m: { provider: "scripted", model: "m" } },
    agents: { lead: { model: "m", delegates: ["clerk"] }, clerk: { model: "m", description: "Pays" } },
    tools: [pay, hire],
    store,
  };
  /** The second one is queued before anybody executes the first. */
  const startBoth = async (...said: readonly [string, string]) => {
    await using desk = createRuntime({ ...init, workers: false });
    const start = (input: string) => desk.start({ agent: "lead", thread: "t", input });
    return [await start(said[0]), await start(said[1])] as const;
  };
  return { startBoth, open: () => createRuntime(init), finish: () => task.resolve("found") };
}

const moment = () => new Promise((resolve) => setTimeout(resolve, 2));

describe.each(STORES)("a thread has one run that waits, on %s", (_, make) => {
  test("one that waits for a delegate is left by the run that is queued behind it, whose ticket is its own", async () => {
    await using store = make();
    const { startBoth, open } = office(store);
    const [first, second] = await startBoth("delegate", "pay");
    const runtime = open();
    const [ticket] = ticketsOf(await runtime.wait(second.runId));
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "cancelled" });
    const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect(await decided.result).toMatchObject({ status: "done", runId: second.runId, text: "read paid" });
    while ((await store.runs.count({ statuses: ["created", "running", "waiting"] })) > 0) await moment();
    await runtime.close();
  });

  test("one that waits for its task has answered when the next one begins, which reads the news", async () => {
    await using store = make();
    const { startBoth, open, finish } = office(store);
    const [first, second] = await startBoth("hire", "pay");
    const runtime = open();
    const [ticket] = ticketsOf(await runtime.wait(second.runId));
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "done", text: "read hired" });
    finish();
    while ((await store.pending.load(second.threadId)).entries.length === 0) await moment();
    const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    await decided.result;
    while ((await runtime.wait(second.runId)).status === "waiting") await moment();
    const { items } = await store.messages.list(second.threadId, { visibility: "all" });
    expect(items.flatMap(({ message }) => message.metadata?.task ?? [])).toEqual([{ kind: "completed", taskId: "bg_0", result: "found" }]);
    expect(await store.runs.count({ statuses: ["created", "running", "waiting"] })).toBe(0);
    await runtime.close();
  });
});

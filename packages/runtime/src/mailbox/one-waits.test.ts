import { type InferenceRequest, messageText } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
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
  const runtime = createRuntime({
    providers: { scripted: scripted(new Array<ScriptStep>(50).fill(obedient)) },
    models: { m: { provider: "scripted", model: "m" } },
    agents: { lead: { model: "m", delegates: ["clerk"] }, clerk: { model: "m", description: "Pays" } },
    tools: [pay, hire],
    store,
  });
  const start = (said: string) => runtime.start({ agent: "lead", thread: "t", input: said });
  return { runtime, start, finish: () => task.resolve("found") };
}

describe.each(STORES)("a thread has one run that waits, on %s", (_, make) => {
  test("one that waits for a delegate is left by the run that is queued behind it, whose ticket is its own", async () => {
    await using store = make();
    const { runtime, start } = office(store);
    const [first, second] = [await start("delegate"), await start("pay")];
    const [ticket] = ticketsOf(await runtime.wait(second.runId));
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "cancelled" });
    const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect(await decided.result).toMatchObject({ status: "done", runId: second.runId, text: "read paid" });
    expect(await store.runs.count({ statuses: ["created", "running", "waiting"] })).toBe(0);
    await runtime.close();
  });

  test("one that waits for its task has answered when the next one begins, which reads the news", async () => {
    await using store = make();
    const { runtime, start, finish } = office(store);
    const [first, second] = [await start("hire"), await start("pay")];
    const [ticket] = ticketsOf(await runtime.wait(second.runId));
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "done", text: "read hired" });
    finish();
    const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    await decided.result;
    while ((await runtime.wait(second.runId)).status === "waiting") await new Promise((resolve) => setTimeout(resolve, 2));
    const { items } = await store.messages.list(second.threadId, { visibility: "all" });
    expect(items.flatMap(({ message }) => message.metadata?.task ?? [])).toEqual([{ kind: "completed", taskId: "bg_0", result: "found" }]);
    expect(await store.runs.count({ statuses: ["created", "running", "waiting"] })).toBe(0);
    await runtime.close();
  });
});

import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { activeAgent } from "../state/active-agent.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";

describe("a call that waits while its agent hands the thread on", () => {
  it("is replayed with the tools of the agent that asked for it, and then the other agent goes on", async () => {
    const paid: number[] = [];
    const pay = defineTool({
      id: "pay",
      description: "",
      input: z.object({ amount: z.number() }),
      approve: () => ask("pay?"),
      execute: ({ amount }) => {
        paid.push(amount);
        return "paid";
      },
    });
    const go = defineTool({
      id: "go",
      description: "",
      input: z.object({}),
      execute: () => reply("gone", { command: command().update(activeAgent, "billing") }),
    });
    const keys = definePlugin({ id: "keys", register: () => {} });
    const model = scripted([
      toolCalls([
        { name: "pay", input: { amount: 5 }, id: "p1" },
        { name: "go", input: {}, id: "g1" },
      ]),
      text("billing speaks"),
    ]);
    const runtime = createRuntime({
      providers: { main: model },
      models: { fast: { provider: "main", model: "m" } },
      agents: {
        desk: { model: "fast", instructions: "desk", tools: ["pay", "go"], plugins: ["keys"] },
        billing: { model: "fast", instructions: "billing", tools: [] },
      },
      tools: [pay, go],
      plugins: [keys],
      store: memoryStore(),
    });
    const first = await runtime.run({ agent: "desk", thread: "t", input: "go" });
    await runtime.decide("p1", { action: "approve", run: first.runId });
    const done = await runtime.wait(first.runId);
    expect(paid).toEqual([5]);
    expect(done).toMatchObject({ text: "billing speaks", status: "done" });
    expect(model.requests.map((request) => request.system)).toEqual(["desk", "billing"]);
    model.assertDone();
  });
});

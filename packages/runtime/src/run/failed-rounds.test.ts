import type { AgentEvent } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";

const after = (id: string, ms: number) =>
  defineTool({ id, description: "", input: z.object({}), execute: () => new Promise<string>((done) => setTimeout(done, ms, id)) });

test("behind a hook that failed, the results of later calls are kept, and no hook runs for them", async () => {
  const hooked: string[] = [];
  const failing = definePlugin({
    id: "failing",
    register(r) {
      r.hook("afterToolExecute", ({ call }) => {
        hooked.push(call.name);
        if (call.name === "first") throw new Error("no");
      });
    },
  });
  const calls = ["first", "second"].map((name) => ({ name, input: {} }));
  const store = memoryStore();
  const runtime = createRuntime({
    providers: { p: scripted([toolCalls(calls), text("never said")]) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m", plugins: ["failing"] } },
    tools: [after("first", 1), after("second", 40)],
    plugins: [failing],
    log: { warn() {}, error() {} },
    workers: false,
    store,
  });
  const run = runtime.stream({ thread: "t", input: "go" });
  const ended: AgentEvent[] = [];
  for await (const event of run) if (event.type === "tool-call-end") ended.push(event);
  expect(await run.result).toMatchObject({ status: "failed", error: { code: "hook_failed" } });
  expect(hooked).toEqual(["first"]);
  expect(ended).toMatchObject([
    { toolName: "first", outcome: "succeeded" },
    { toolName: "second", outcome: "succeeded", result: { data: "second" } },
  ]);
  expect((await store.ledger.list(run.id)).map(({ toolName, status }) => `${toolName} ${status}`)).toEqual([
    "first finished",
    "second finished",
  ]);
  await runtime.close();
});

import type { JsonValue, Provider } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { defineState } from "../state/key.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";

// What a model, a tool or a hook gives is taken up to a depth, and what was taken can be stored: no run fails in its last commit for it.

const nested = (depth: number): JsonValue => (depth === 0 ? 1 : [nested(depth - 1)]);

const kept = defineState<object, JsonValue>("app.kept", {
  scope: "thread",
  schema: z.custom<object>(() => true),
  initial: () => ({}),
  apply: (_, value) => ({ value }),
});

const TOOLS = [
  defineTool({ id: "take", description: "", input: z.object({ a: z.unknown() }), execute: () => "taken" }),
  defineTool({ id: "asks", description: "", input: z.object({ a: z.unknown() }), approve: () => ask("Take?"), execute: () => "taken" }),
  defineTool({ id: "give", description: "", input: z.object({ depth: z.number() }), execute: ({ depth }) => nested(depth) }),
  defineTool({
    id: "keep",
    description: "",
    input: z.object({ depth: z.number() }),
    state: [kept],
    execute: ({ depth }) => reply("kept", { command: command().update(kept, nested(depth)) }),
  }),
];

/** Says each of these once, a call as a call, and then `1`. */
function saying(...turns: readonly ({ readonly tool: string; readonly input: string } | string)[]): Provider {
  const open = [...turns];
  return {
    name: "says",
    async *stream() {
      const next = open.shift() ?? "1";
      if (typeof next === "string") yield { type: "text-delta", delta: next };
      else {
        yield { type: "tool-call-start", id: "c1", name: next.tool };
        yield { type: "tool-call-delta", id: "c1", delta: next.input };
      }
      yield { type: "stop", reason: typeof next === "string" ? "end-turn" : "tool-use" };
    },
  };
}

const open = (model: Provider) =>
  createRuntime({
    providers: { says: model },
    models: { fast: { provider: "says", model: "says-1" } },
    agents: { assistant: { model: "fast" } },
    tools: TOOLS,
    store: memoryStore(),
    log: { warn() {}, error() {} },
  });

const DEPTHS = [500, 505, 506, 507, 508, 509, 510, 511, 512, 513, 514, 600];

test.each(DEPTHS)(
  "values of depth %i that a call takes, a tool gives or a key keeps are stored, or refused where they come from",
  async (depth) => {
    const value = JSON.stringify(nested(depth));
    const calls = [
      { tool: "take", input: `{"a":${value}}` },
      { tool: "asks", input: `{"a":${value}}` },
      { tool: "give", input: `{"depth":${depth}}` },
      { tool: "keep", input: `{"depth":${depth}}` },
    ];
    for (const call of calls) {
      const runtime = open(saying(call));
      let result = await runtime.run({ thread: "t", input: "go" });
      if (result.status === "waiting") result = await (await runtime.decide(result.tickets[0]?.id ?? "", { action: "approve" })).result;
      expect([call.tool, result.status, result.termination]).toEqual([call.tool, "done", { type: "natural-end" }]);
      expect(await runtime.run({ thread: "t", input: "again" })).toMatchObject({ status: "done" });
    }
  },
);

test.each([...DEPTHS, 50_000])("core-execution 92: an answer of depth %i is stored, or asked for again", async (depth) => {
  const runtime = open(saying(`${"[".repeat(depth)}${"]".repeat(depth)}`));
  const result = await runtime.run({ thread: "t", input: "go", output: z.unknown() });
  expect(result).toMatchObject({ status: "done", steps: depth > 513 ? 2 : 1 });
  expect(await runtime.wait(result.runId)).toMatchObject({ status: "done", ...(depth > 513 && { output: 1 }) });
});

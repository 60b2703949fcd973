import { jsonSchema as jsonSchema7, tool as tool7 } from "ai";
import { jsonSchema as jsonSchema6, tool as tool6 } from "ai6";
import { expect, it, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import type { ToolList } from "./foreign-tool.ts";

const object = "object" as const;
const integer = "integer" as const;
const parameters = {
  type: object,
  properties: { colour: { enum: ["red", "blue"] }, at: { $ref: "#/$defs/point" } },
  required: ["colour"],
  additionalProperties: false,
  $defs: { point: { type: object, properties: { x: { type: integer } }, required: ["x"] } },
};

const PROBLEM = /^Invalid arguments: .*colour: must be one of "red", "blue"/;

async function play(script: readonly ScriptStep[], tools: ToolList = [], frontendTools = [{ id: "paint", description: "", parameters }]) {
  const runtime = createRuntime({
    providers: { scripted: scripted(script) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    tools,
  });
  const ends: { readonly outcome: string; readonly result: unknown }[] = [];
  const run = runtime.stream({ input: "paint", frontendTools });
  for await (const event of run) if (event.type === "tool-call-end") ends.push({ outcome: event.outcome, result: event.result });
  return { ends, result: await run.result };
}

test("the input of a tool of the client is checked before it waits: one that does not fit goes back to the model", async () => {
  const wrong = toolCall("paint", { colour: "green" });
  const deep = toolCall("paint", { colour: "red", at: { x: 0.5 } }, { id: "c2" });
  const right = toolCall("paint", { colour: "red", at: { x: 1 } }, { id: "c3" });
  const { ends, result } = await play([wrong, deep, right]);
  expect(ends).toMatchObject([
    { outcome: "failed", result: { code: "invalid_arguments", message: expect.stringMatching(PROBLEM) } },
    { outcome: "failed", result: { code: "invalid_arguments", message: expect.stringContaining("at.x: must be integer, got number") } },
    { outcome: "suspended" },
  ]);
  expect(result).toMatchObject({ status: "waiting", steps: 3, tickets: [{ input: { colour: "red", at: { x: 1 } } }] });
});

test.each([
  ["6", (execute: () => string) => tool6({ inputSchema: jsonSchema6(parameters), execute })],
  ["7", (execute: () => string) => tool7({ inputSchema: jsonSchema7(parameters), execute })],
])("the input of an AI SDK %s tool with a JSON Schema alone is checked before it runs", async (_, make) => {
  let calls = 0;
  const paint = make(() => {
    calls += 1;
    return "painted";
  });
  const script = [toolCall("paint", { colour: "green" }), toolCall("paint", { colour: "blue" }, { id: "c2" }), text("done")];
  const { ends, result } = await play(script, { paint }, []);
  expect(ends).toMatchObject([
    { outcome: "failed", result: { code: "invalid_arguments", message: expect.stringMatching(PROBLEM) } },
    { outcome: "succeeded", result: { data: "painted" } },
  ]);
  expect(result.text).toBe("done");
  expect(calls).toBe(1);
});

it("a tool without execute whose schema is code is checked by that code", async () => {
  const even = tool7({ inputSchema: z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") }) });
  const { ends } = await play([toolCall("even", { n: 1 }), toolCall("even", { n: 2 }, { id: "c2" })], { even }, []);
  expect(ends).toMatchObject([
    { outcome: "failed", result: { message: expect.stringContaining("must be even") } },
    { outcome: "suspended" },
  ]);
});

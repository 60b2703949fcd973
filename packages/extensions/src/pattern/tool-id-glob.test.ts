import { createRuntime, defineTool } from "@awaken/runtime";
import { scripted, text } from "@awaken/runtime/testing";
import { describe, expect, test } from "vitest";
import * as z from "zod";

const IDS = ["Bash", "mcp:weather/forecast", "a/b", "tool?id", "toolXid", "tool[id", "a*b", "axb"];

const tools = IDS.map((id) => defineTool({ id, description: "", input: z.object({}), execute: () => "done" }));

/** The tools that a model is offered of all there are. */
async function offered(...toolPatterns: string[]): Promise<readonly string[]> {
  const model = scripted([text("hi")]);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: { assistant: { model: "fast", toolPatterns } },
    tools,
    log: { warn() {}, error() {} },
  });
  await runtime.run({ input: "hi" });
  return (model.requests[0]?.tools ?? []).map(({ id }) => id);
}

describe("the tool-id glob of catalogues", () => {
  test("extensions 1: `*` crosses `/`, `:` and `_`; `?` and `[` are literal there", async () => {
    expect(await offered("mcp:*")).toEqual(["mcp:weather/forecast"]);
    expect(await offered("a*b")).toEqual(["a*b", "a/b", "axb"]);
    expect(await offered("a\\*b")).toEqual(["a*b"]);
    expect(await offered("tool?id", "tool[id")).toEqual(["tool?id", "tool[id"]);
    expect(await offered("/B.*/")).toEqual([]);
  });

  test("extensions 2: rejects the empty pattern and a trailing backslash", async () => {
    await expect(offered("")).rejects.toThrow("pattern is empty");
    await expect(offered("Bash\\")).rejects.toThrow("dangling escape");
  });

  test("extensions 3: `Bash(npm *)` in `toolPatterns` never matches `Bash`", async () => {
    expect(await offered("Bash(npm *)")).toEqual([]);
  });
});

import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { defineProfile, sharedScope } from "../state/define-profile.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";

const taste = defineProfile("taste", { schema: z.object({ colour: z.string() }), initial: () => ({ colour: "none" }) });
const unknown = defineProfile("unknown", { schema: z.string(), initial: () => "" });

function open(turns: readonly ScriptStep[], seen: unknown[], storage: { store?: Store } = { store: memoryStore() }) {
  const learn = defineTool({
    id: "learn",
    description: "",
    input: z.object({ colour: z.string() }),
    execute: async ({ colour }, { profile, identity }) => {
      await profile.write(taste, identity.agentId, { colour });
      await profile.write(taste, sharedScope.global, { colour: `${colour}!` });
      return "learned";
    },
  });
  const ask = defineTool({
    id: "ask-unknown",
    description: "",
    input: z.object({}),
    execute: async (_input, { profile }) => profile.read(unknown, "a"),
  });
  const tastes = definePlugin({
    id: "tastes",
    register(r) {
      r.profile(taste);
      r.hook("runStart", async ({ profile, identity }) => {
        seen.push([identity.agentId, await profile.read(taste, identity.agentId), await profile.read(taste, sharedScope.global)]);
      });
    },
  });
  const silent = definePlugin({ id: "silent", register: (r) => r.profile(unknown) });
  return createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: {
      ana: { model: "fast", plugins: ["tastes"] },
      ben: { model: "fast", plugins: ["tastes"] },
      cleo: { model: "fast", plugins: ["tastes", "silent"], activePlugins: ["tastes"] },
    },
    tools: [learn, ask],
    plugins: [tastes, silent],
    log: { warn() {}, error() {} },
    ...storage,
  });
}

describe("profiles", () => {
  it("registry-and-runtime 52: hooks and tools read and write them; what is missing reads as its default, owners do not see each other", async () => {
    const seen: unknown[] = [];
    const runtime = open([toolCall("learn", { colour: "red" }), text("ok"), text("a"), text("b")], seen);
    await runtime.run({ agent: "ana", thread: "t1", input: "x" });
    await runtime.run({ agent: "ana", thread: "t2", input: "x" });
    await runtime.run({ agent: "ben", thread: "t3", input: "x" });
    expect(seen).toEqual([
      ["ana", { colour: "none" }, { colour: "none" }],
      ["ana", { colour: "red" }, { colour: "red!" }],
      ["ben", { colour: "none" }, { colour: "red!" }],
    ]);
  });

  it("registry-and-runtime 52: a key that no plugin registered cannot be read; one of a plugin that is filtered out can", async () => {
    const results: string[] = [];
    const runtime = open([toolCall("ask-unknown", {}), text("a"), toolCall("ask-unknown", {}), text("b")], []);
    for (const agent of ["ana", "cleo"]) {
      for await (const event of runtime.stream({ agent, input: "x" })) {
        if (event.type === "tool-call-end") results.push(event.result.type === "error" ? event.result.message : event.result.type);
      }
    }
    expect(results).toEqual([expect.stringContaining("profile key not registered: unknown"), "success"]);
  });

  it("registry-and-runtime 60: they work without a store: written by one run, read by the next, of another agent too, and cleared", async () => {
    const seen: unknown[] = [];
    const runtime = open([toolCall("learn", { colour: "red" }), text("ok"), text("a"), text("b")], seen, {});
    expect(await runtime.run({ agent: "ana", thread: "t1", input: "x" })).toMatchObject({ text: "ok" });
    await runtime.run({ agent: "ana", thread: "t2", input: "x" });
    await runtime.run({ agent: "ben", thread: "t3", input: "x" });
    expect(seen).toEqual([
      ["ana", { colour: "none" }, { colour: "none" }],
      ["ana", { colour: "red" }, { colour: "red!" }],
      ["ben", { colour: "none" }, { colour: "red!" }],
    ]);
    // Of this runtime alone.
    const other: unknown[] = [];
    await open([text("c")], other, {}).run({ agent: "ana", input: "x" });
    expect(other).toEqual([["ana", { colour: "none" }, { colour: "none" }]]);
  });

  it("registry-and-runtime 60: without a store they are listed, deleted and cleared as with one", async () => {
    const told: unknown[] = [];
    const tidy = defineTool({
      id: "tidy",
      description: "",
      input: z.object({}),
      execute: async (_input, { profile }) => {
        const value = { colour: "red" };
        await profile.write(taste, "a", value);
        await profile.write(taste, "b", value);
        value.colour = "changed";
        told.push(await profile.read(taste, "a"), await profile.list("a"), await profile.list("none"));
        await profile.delete(taste, "a");
        await profile.delete(taste, "nobody");
        told.push(await profile.read(taste, "a"), await profile.list("a"));
        await profile.clear("b");
        told.push(await profile.read(taste, "b"));
        return "tidy";
      },
    });
    const plugin = definePlugin({ id: "tastes", register: (r) => r.profile(taste) });
    const runtime = createRuntime({
      providers: { scripted: scripted([toolCall("tidy", {}), text("ok")]) },
      models: { fast: { provider: "scripted", model: "scripted-1" } },
      agents: { ana: { model: "fast", plugins: ["tastes"] } },
      tools: [tidy],
      plugins: [plugin],
    });
    expect(await runtime.run({ input: "x" })).toMatchObject({ text: "ok" });
    expect(told).toEqual([{ colour: "red" }, ["taste"], [], { colour: "none" }, [], { colour: "none" }]);
  });
});

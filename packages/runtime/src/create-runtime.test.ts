import { AwakenError, type JsonValue, type Schema } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "./create-runtime.ts";
import { command } from "./phase/command.ts";
import { definePlugin } from "./plugin/define-plugin.ts";
import { defineState } from "./state/key.ts";
import { text, toolCall, toolCalls } from "./testing/script.ts";
import { scripted } from "./testing/scripted.ts";
import { defineTool } from "./tool/define-tool.ts";
import { reply } from "./tool/reply.ts";

const toolOf = (id: string) => defineTool({ id, description: "", input: z.object({}), execute: () => id });

/** Checks, and cannot say what it checks. */
const mute: Schema<unknown> = { "~standard": { version: 1, vendor: "mute", validate: (value) => ({ value }) } };
const muteTool = (id: string) => defineTool({ id, description: "", input: mute, execute: () => id });

const silent = { warn() {}, error() {} };

const baseOf = (turns: Parameters<typeof scripted>[0] = []): RuntimeInit => ({
  providers: { main: scripted(turns) },
  models: { fast: { provider: "main", model: "m" } },
  log: silent,
});

function refusal(call: () => unknown): AwakenError {
  try {
    call();
  } catch (thrown) {
    if (AwakenError.is(thrown)) return thrown;
    throw thrown;
  }
  throw new Error("expected a refusal");
}

const bringer = definePlugin({ id: "bringer", register: (r) => r.tool(toolOf("brought")) });

describe("mistakes in what a runtime is made of", () => {
  const wrong = {
    tools: ["weather", "wether", "brought", "brougt"],
    plugins: ["bringer", "bringr"],
    delegates: ["helper", "helpr"],
    handoffs: ["helper", "hlper"],
  };

  it("registry-and-runtime 56: an agent's unknown tools, plugins, delegates and handoffs, and tools without a JSON Schema, are told at once, each with its nearest name", () => {
    const error = refusal(() =>
      createRuntime({
        ...baseOf(),
        agents: { lead: { model: "fast", ...wrong }, helper: { model: "fats", delegates: ["zzz"] } },
        tools: [toolOf("weather"), muteTool("dumb"), muteTool("mute")],
        plugins: [bringer],
      }),
    );
    expect(error.code).toBe("registry_validation_failed");
    expect(error.message.replace("registry validation failed: ", "").split("; ")).toEqual([
      expect.stringMatching(/^tool 'dumb' has no JSON Schema: .*vendor 'mute'/),
      expect.stringMatching(/^tool 'mute' has no JSON Schema/),
      "agent 'lead' uses missing plugin 'bringr': did you mean 'bringer'?",
      "agent 'lead' uses missing tool 'wether': did you mean 'weather'?",
      "agent 'lead' uses missing tool 'brougt': did you mean 'brought'?",
      "agent 'lead' delegates to missing agent 'helpr': did you mean 'helper'?",
      "agent 'lead' hands off to missing agent 'hlper': did you mean 'helper'?",
      "agent 'helper' references missing model 'fats': did you mean 'fast'?",
      "agent 'helper' delegates to missing agent 'zzz'",
    ]);
  });

  it("registry-and-runtime 56: an update is refused for the same, and publishes nothing", () => {
    const runtime = createRuntime({
      ...baseOf(),
      agents: { lead: { model: "fast", plugins: ["bringer"], tools: ["brought", "weather"] }, helper: { model: "fast" } },
      tools: { weather: toolOf("weather") },
      plugins: [bringer],
    });
    const { registry } = runtime;
    const update = (edit: Parameters<typeof registry.update>[0]) => refusal(() => registry.update(edit)).message;
    expect(
      update(({ agents, tools }) => {
        agents["other"] = { model: "fast", ...wrong };
        tools["dumb"] = muteTool("dumb");
      }),
    ).toMatch(/tool 'dumb' has no JSON Schema.*'bringr'.*'wether'.*'brougt'.*'helpr'.*'hlper'/);
    // What an agent names may go with the plugin that brought it, or with the tool.
    expect(
      update(({ plugins }) => {
        plugins["bringer"] = definePlugin({ id: "bringer", register() {} });
      }),
    ).toBe("registry validation failed: agent 'lead' uses missing tool 'brought'");
    expect(
      update(({ tools }) => {
        delete tools["weather"];
      }),
    ).toBe("registry validation failed: agent 'lead' uses missing tool 'weather'");
    // An agent that cannot be put together is refused too, whoever breaks it.
    const strict = definePlugin({ id: "strict", config: z.object({ cap: z.number() }), register() {} });
    expect(
      update(({ agents, plugins }) => {
        plugins["strict"] = strict;
        agents["other"] = { model: "fast", plugins: ["strict"] };
      }),
    ).toMatch(/^agent validation failed: other: invalid config for plugin strict/);
    expect(
      update(({ tools }) => {
        tools["brought"] = toolOf("brought");
      }),
    ).toMatch(/^agent validation failed: lead: tool ID conflict/);
    expect(registry.version).toBe(1);
  });

  it("registry-and-runtime 56: ids of sources that are read later are checked by initialize, and then fail their agent alone", async () => {
    const runtime = createRuntime({
      ...baseOf([text("one"), text("two"), text("three"), text("four")]),
      agents: {
        mcp: { model: "fast", tools: ["mcp__files__read"] },
        far: { model: "fast", delegates: ["lab/ada"], handoffs: ["lab/bob"] },
        whole: { model: "fast", tools: ["mcp__files__list"] },
      },
      tools: [toolOf("mcp__files__list")],
    });
    expect(await runtime.run({ agent: "mcp", input: "x" })).toMatchObject({ text: "one" });
    await runtime.initialize();
    await expect(runtime.run({ agent: "mcp", input: "x" })).rejects.toMatchObject({
      code: "resolve_failed",
      message: expect.stringContaining("agent 'mcp' uses missing tool 'mcp__files__read'"),
    });
    await expect(runtime.run({ agent: "far", input: "x" })).rejects.toThrow(
      /delegates to missing agent 'lab\/ada'; hands off to missing agent/,
    );
    expect(await runtime.run({ agent: "whole", input: "x" })).toMatchObject({ text: "two" });
    // It heals when the source has it.
    runtime.registry.update(({ tools }) => {
      tools["mcp__files__read"] = toolOf("mcp__files__read");
    });
    expect(await runtime.run({ agent: "mcp", input: "x" })).toMatchObject({ text: "three" });
  });

  it("a tool of a plugin that has no JSON Schema is named", () => {
    const plugin = definePlugin({ id: "odd", register: (r) => r.tool(muteTool("dumb")) });
    const error = refusal(() => createRuntime({ ...baseOf(), agents: { a: { model: "fast", plugins: ["odd"] } }, plugins: [plugin] }));
    expect(error.message).toMatch(/^agent validation failed: a: tool 'dumb' has no JSON Schema/);
  });

  it("registry-and-runtime 57: options and fields that nobody knows are named, all at once, with the nearest name", () => {
    const budget = definePlugin({ id: "budget", config: z.object({ capCents: z.number().default(500) }), register() {} });
    const agents = { a: { model: "fast", instruction: "x" }, b: { model: "fast", contextPolicy: { maxContextToken: 1 } } };
    const error = refusal(() => createRuntime({ ...baseOf(), agents, pluginz: [], toolz: [], plugins: [budget] } as RuntimeInit));
    expect(error.code).toBe("config_validation_failed");
    for (const line of [
      "unknown option 'pluginz' of createRuntime: did you mean 'plugins'?",
      "unknown option 'toolz' of createRuntime: did you mean 'tools'?",
      "unknown field 'instruction': did you mean 'instructions'? (agent 'a')",
      "unknown field 'contextPolicy.maxContextToken': did you mean 'maxContextTokens'? (agent 'b')",
    ]) {
      expect(error.message).toContain(line);
    }
  });

  it("registry-and-runtime 57: a limit that nobody knows, or that cannot pass, is named", () => {
    const limits = { hookMS: 5, gateMs: 0, storeMs: Number.NaN, effectMs: Number.POSITIVE_INFINITY };
    const error = refusal(() => createRuntime({ ...baseOf(), limits } as RuntimeInit));
    expect(error.message.split("; ").map((line) => line.replace(/^.*failed: /, ""))).toEqual([
      "unknown option 'hookMS' of limits of createRuntime: did you mean 'hookMs'?",
      "option 'gateMs' of limits of createRuntime must be milliseconds above 0, got a number",
      "option 'storeMs' of limits of createRuntime must be milliseconds above 0, got NaN",
    ]);
    expect(refusal(() => createRuntime({ ...baseOf(), limits: [] } as unknown as RuntimeInit)).message).toContain("option 'limits'");
  });

  it("registry-and-runtime 57: a field of a section that nobody knows is named; a known section takes the defaults of what is left out", async () => {
    const seen: unknown[] = [];
    const budget = definePlugin({
      id: "budget",
      config: z.object({ capCents: z.number().default(500), unit: z.string().default("eur") }),
      register: (_r, config) => void seen.push(config),
    });
    const withSections = (sections: Record<string, JsonValue>) =>
      createRuntime({ ...baseOf([text("ok")]), agents: { a: { model: "fast", plugins: ["budget"], sections } }, plugins: [budget] });
    for (const [sections, message] of [
      [{ retry: { maxRetry: 1 } }, "maxRetry: is an unknown field: did you mean 'maxRetries'?"],
      [{ budget: { capCent: 1 } }, "unknown field 'capCent': did you mean 'capCents'?"],
    ] as const) {
      expect(refusal(() => withSections(sections)).message).toContain(message);
    }
    const runtime = withSections({ retry: { streamIdleTimeoutSecs: 1 }, budget: { unit: "usd" } });
    expect(seen.at(-1)).toEqual({ capCents: 500, unit: "usd" });
    expect(runtime.resolver.open().resolve("a").policy).toMatchObject({ streamIdleTimeoutMs: 1000, maxRetries: 2 });
    expect(await runtime.run({ input: "x" })).toMatchObject({ text: "ok" });
  });

  it("a plugin whose schema takes any field gets any field", () => {
    const seen: unknown[] = [];
    const open = definePlugin({ id: "open", config: z.looseObject({ a: z.number() }), register: (_r, config) => void seen.push(config) });
    createRuntime({
      ...baseOf(),
      agents: { a: { model: "fast", plugins: ["open"], sections: { open: { a: 1, b: 2 } } } },
      plugins: [open],
    });
    expect(seen.at(-1)).toEqual({ a: 1, b: 2 });
  });

  it("nothing where a part belongs is named by its place", () => {
    const holes = { ...baseOf(), agents: { a: undefined, b: { model: "fast" } }, tools: [toolOf("x"), undefined], plugins: [undefined] };
    const { message } = refusal(() => createRuntime(holes as never));
    expect(message).toContain("tools[1] is no tool: got nothing");
    expect(message).toContain("plugins[0] is no plugin: got nothing");
    expect(message).toContain("expected an object, got nothing (agent 'a')");
    expect(message).not.toContain("'b'");
  });

  it("what could not be read is told once: whoever refers to it has no mistake of his own", () => {
    const init = {
      ...baseOf(),
      agents: { a: { model: "broken", tools: ["t"], plugins: ["p"], delegates: ["b"] }, b: { modle: 1 } },
      models: { broken: { provider: "main" } },
      tools: { t: { inputSchema: 5 } },
      plugins: [{ id: "p" }],
    };
    const { details } = refusal(() => createRuntime(init as never));
    expect(details["problems"]).toHaveLength(4);
  });
});

describe("an agent that is the only one", () => {
  it("registry-and-runtime 58: a request without an agent runs it, and so do the next ones of the thread", async () => {
    const model = scripted([text("one"), text("two")]);
    const runtime = createRuntime({ ...baseOf(), providers: { main: model }, agents: { support: { model: "fast", instructions: "S" } } });
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ text: "one" });
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ text: "two" });
    expect(model.requests.map(({ system }) => system)).toEqual(["S", "S"]);
  });

  it("registry-and-runtime 58: of several, the one called default runs; without it the request is refused and nothing is recorded", async () => {
    const agents = { a: { model: "fast" }, b: { model: "fast" } };
    const several = createRuntime({ ...baseOf([text("d")]), agents: { ...agents, default: { model: "fast" } } });
    expect(await several.run({ input: "x" })).toMatchObject({ text: "d" });
    const unclear = createRuntime({ ...baseOf(), agents });
    await expect(unclear.run({ runId: "r", input: "x" })).rejects.toMatchObject({ code: "agent_not_found" });
    await expect(unclear.wait("r")).rejects.toMatchObject({ code: "run_not_found" });
  });

  it("registry-and-runtime 58: agents that live elsewhere do not count, and an agent that is added does", async () => {
    const far = { remote: { a2a: "https://agents.example.com" } };
    const runtime = createRuntime({ ...baseOf([text("one")]), agents: { near: { model: "fast" }, far } });
    expect(await runtime.run({ input: "x" })).toMatchObject({ text: "one" });
    runtime.registry.update(({ agents }) => {
      agents["second"] = { model: "fast" };
    });
    await expect(runtime.run({ input: "x" })).rejects.toMatchObject({ code: "agent_not_found" });
  });
});

const counter = (name: string) =>
  defineState(name, {
    scope: "thread",
    schema: z.number(),
    initial: () => 0,
    apply: (value, add: number) => value + add,
    merge: "commutative",
  });

describe("state without a plugin", () => {
  const count = counter("count");
  const adder = (id: string, seen: unknown[], declared?: { state: readonly ReturnType<typeof counter>[] }) =>
    defineTool({
      id,
      description: "",
      input: z.object({}),
      execute: (_input, { state }) => {
        seen.push(state.get(count));
        return reply("ok", { command: command().update(count, 1) });
      },
      ...declared,
    });
  const twoCalls = toolCalls([
    { name: "add", input: {}, id: "c1" },
    { name: "plus", input: {}, id: "c2" },
  ]);

  it("registry-and-runtime 59: keys given to createRuntime are used by every tool, in parallel and over runs", async () => {
    const seen: unknown[] = [];
    const runtime = createRuntime({
      ...baseOf([twoCalls, text("a"), toolCall("add", {}), text("b")]),
      agents: { a: { model: "fast" } },
      tools: [adder("add", seen), adder("plus", seen)],
      state: [count],
    });
    await runtime.run({ thread: "t", input: "x" });
    await runtime.run({ thread: "t", input: "x" });
    expect(seen).toEqual([undefined, undefined, 2]);
  });

  it("registry-and-runtime 59: a tool brings its keys; two tools, a plugin and the runtime may share one key object", async () => {
    const seen: unknown[] = [];
    const own = { state: [count] };
    const plugin = definePlugin({
      id: "p",
      register(r) {
        r.state(count);
        r.tool(adder("plus", seen, own));
      },
    });
    const runtime = createRuntime({
      ...baseOf([twoCalls, text("a"), toolCall("add", {}), text("b")]),
      agents: { a: { model: "fast", plugins: ["p"] } },
      tools: [adder("add", seen, own)],
      plugins: [plugin],
      state: [count],
    });
    await runtime.run({ thread: "t", input: "x" });
    await runtime.run({ thread: "t", input: "x" });
    expect(seen).toEqual([undefined, undefined, 2]);
  });

  it("registry-and-runtime 59: two keys of one name are an error that names both owners", () => {
    const init = { ...baseOf(), agents: { a: { model: "fast" } } };
    const [one, two] = [adder("add", [], { state: [count] }), adder("plus", [], { state: [counter("count")] })];
    expect(refusal(() => createRuntime({ ...init, tools: [one, two] })).message).toMatch(/state key 'count'.*'tool:add'.*'tool:plus'/);
    expect(refusal(() => createRuntime({ ...init, tools: [two], state: [count] })).message).toMatch(
      /'count'.*'createRuntime'.*'tool:plus'/,
    );
    const plugin = definePlugin({ id: "p", register: (r) => r.tool(two) });
    const agents = { a: { model: "fast", plugins: ["p"] } };
    expect(refusal(() => createRuntime({ ...init, agents, tools: [one], plugins: [plugin] })).message).toMatch(/'count'.*'p'.*'tool:add'/);
  });
});

import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "./create-runtime.ts";
import { definePlugin, type Plugin, type PluginInit } from "./plugin/define-plugin.ts";
import { latch } from "./plugin/engine-bench.test-support.ts";
import { defineState } from "./state/key.ts";
import { fakeClock } from "./testing/fake-clock.ts";
import { text, toolCall } from "./testing/script.ts";
import { scripted } from "./testing/scripted.ts";
import { defineTool } from "./tool/define-tool.ts";
import type { Tool } from "./tool/tool.ts";

const toolOf = (id: string, says = id) => defineTool({ id, description: says, input: z.object({}), execute: () => says });

function recordedLog() {
  const lines: string[] = [];
  return { lines, warn: (line: string) => void lines.push(line), error: (line: string) => void lines.push(line) };
}

/** A plugin whose list the test changes. */
function sourceOf(first: readonly Tool[], init: Partial<PluginInit<undefined>> = {}) {
  let tools = first;
  const source = { prefix: "far__", snapshot: () => tools };
  const plugin = definePlugin({ id: "far", register: (r) => r.tools(source), ...init });
  return {
    plugin,
    set: (next: readonly Tool[]) => {
      tools = next;
    },
  };
}

function open(turns: Parameters<typeof scripted>[0], plugins: readonly Plugin[], more: Partial<RuntimeInit> = {}) {
  const model = scripted(turns);
  const log = recordedLog();
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "up" } },
    agents: { a: { model: "fast", plugins: plugins.map(({ id }) => id) } },
    plugins,
    log,
    ...more,
  });
  const offered = () => model.requests.map(({ tools = [] }) => tools.map(({ id }) => id));
  return { runtime, log, offered, model };
}

describe("tools of a source", () => {
  it("are read when a run starts, and the run keeps that list while the source changes", async () => {
    const far = sourceOf([toolOf("far__one", "old")]);
    const change = defineTool({
      id: "change",
      description: "",
      input: z.object({}),
      execute: () => {
        far.set([toolOf("far__one", "new"), toolOf("far__two")]);
        return "changed";
      },
    });
    const turns = [toolCall("change", {}), toolCall("far__one", {}), text("done"), toolCall("far__two", {}), text("done")];
    const { runtime, offered, model } = open(turns, [far.plugin], { tools: [change] });
    const first = await runtime.run({ thread: "t", input: "x" });
    expect(first.status).toBe("done");
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("old");
    expect(offered()).toEqual(Array.from({ length: 3 }, () => ["change", "far__one"]));
    const result = await runtime.run({ thread: "t2", input: "x" });
    expect(result.status).toBe("done");
    expect(offered().at(-1)).toEqual(["change", "far__one", "far__two"]);
  });

  it("are the same for the agents that a run hands over to, and for one that has it again", async () => {
    const far = sourceOf([toolOf("far__one")]);
    const { runtime } = open([], [far.plugin], {
      agents: { a: { model: "fast", plugins: ["far"] }, b: { model: "fast", plugins: ["far"] } },
    });
    const resolution = runtime.resolver.open();
    const plan = resolution.resolve("a");
    far.set([toolOf("far__two")]);
    expect([...resolution.resolve("b").tools.keys()]).toEqual(["far__one"]);
    expect([...resolution.resolve("a").tools.keys()]).toEqual([...plan.tools.keys()]);
    expect([...runtime.resolver.open().resolve("a").tools.keys()]).toEqual(["far__two"]);
    // What is compiled is kept as long as the list is the same.
    expect(runtime.resolver.open().resolve("a")).toBe(runtime.resolver.open().resolve("a"));
  });

  it("that clash, or cannot be told to a model, are left out with a warning, and the rest stays", async () => {
    const mute = { "~standard": { version: 1, vendor: "mute", validate: (value: unknown) => ({ value }) } } as const;
    const key = (name: string) => defineState(name, { schema: z.number(), initial: () => 0, apply: (_, next: number) => next });
    const mine = key("k");
    const odd: readonly Tool[] = [
      toolOf("far__ok"),
      toolOf("far__ok", "again"),
      toolOf("far__taken"),
      toolOf("near__x"),
      defineTool({ id: "far__mute", description: "", input: mute, execute: () => 1 }),
      defineTool({ id: "far__key", description: "", input: z.object({}), execute: () => 1, state: [key("k")] }),
    ];
    const owner = definePlugin({ id: "owner", register: (r) => r.state(mine) });
    const { runtime, offered, log } = open([text("ok")], [owner, sourceOf(odd).plugin], { tools: [toolOf("far__taken", "global")] });
    await runtime.run({ thread: "t", input: "x" });
    expect(offered()).toEqual([["far__ok", "far__taken"]]);
    expect(log.lines).toEqual([
      "tool 'far__ok' of plugin 'far' is left out: plugin 'far' has one of that id",
      "tool 'near__x' of plugin 'far' is left out: its id does not begin with 'far__'",
      expect.stringMatching(/^tool 'far__mute' of plugin 'far' is left out: it has no JSON Schema/),
      "tool 'far__key' of plugin 'far' is left out: its state key 'k' is another one's",
      "tool 'far__taken' of a source is left out: another tool has that id",
    ]);
  });

  it("may be named before they are there; after initialize the agent that names a missing one fails, alone, until it comes", async () => {
    const far = sourceOf([]);
    const { runtime, log } = open([text("early"), text("late"), text("other")], [far.plugin], {
      agents: {
        a: { model: "fast", plugins: ["far"], tools: ["far__one"], excludedToolPatterns: ["far__x*"] },
        b: { model: "fast", plugins: ["far"] },
      },
    });
    expect(await runtime.run({ agent: "a", input: "x" })).toMatchObject({ text: "early" });
    await runtime.initialize();
    await expect(runtime.run({ agent: "a", input: "x" })).rejects.toThrow("agent 'a' uses missing tool 'far__one'");
    far.set([toolOf("far__one")]);
    expect(await runtime.run({ agent: "a", input: "x" })).toMatchObject({ text: "late" });
    expect(await runtime.run({ agent: "b", input: "x" })).toMatchObject({ text: "other" });
    expect(log.lines).toEqual([]);
  });

  it("are not there when the agent's filter leaves the plugin out", async () => {
    const { runtime, offered } = open([text("ok")], [sourceOf([toolOf("far__one")]).plugin, definePlugin({ id: "x", register() {} })], {
      agents: { a: { model: "fast", plugins: ["far", "x"], activePlugins: ["x"] } },
    });
    await runtime.run({ input: "x" });
    expect(offered()).toEqual([[]]);
  });
});

describe("initialize", () => {
  it("waits for all plugins, calls each once per runtime, and closing the runtime closes them", async () => {
    const gate = latch();
    const steps: string[] = [];
    const plugin = (id: string, wait: Promise<void>) =>
      definePlugin({
        id,
        register() {},
        onInitialize: async ({ signal, model }) => {
          steps.push(`${id} opens with ${model("fast").model}`);
          await wait;
          return () => void steps.push(`${id} closes, ${signal.aborted}`);
        },
      });
    const { runtime } = open([], [plugin("one", gate.opened), plugin("two", Promise.resolve())]);
    const both = Promise.all([runtime.initialize(), runtime.initialize()]).then(() => steps.push("ready"));
    await expect.poll(() => steps).toEqual(["one opens with up", "two opens with up"]);
    gate.open();
    await both;
    await runtime.initialize();
    await runtime[Symbol.asyncDispose]();
    expect(steps).toEqual(["one opens with up", "two opens with up", "ready", "one closes, true", "two closes, true"]);
    await expect(runtime.initialize()).rejects.toMatchObject({ code: "cancelled" });
  });

  it("names the plugin that failed, waits for the others, and tries that one again", async () => {
    let attempts = 0;
    let opened = 0;
    const broken = definePlugin({
      id: "broken",
      register() {},
      onInitialize() {
        attempts += 1;
        if (attempts === 1) throw new Error("no wire");
      },
    });
    const fine = definePlugin({
      id: "fine",
      register() {},
      onInitialize: async () => {
        opened += 1;
      },
    });
    const { runtime } = open([text("never"), text("ok")], [broken, fine]);
    await expect(runtime.initialize()).rejects.toMatchObject({
      code: "resolve_failed",
      message: "plugin 'broken' could not be initialized: no wire",
      details: { plugin: "broken" },
    });
    await runtime.initialize();
    expect([attempts, opened]).toEqual([2, 1]);
  });

  it("takes in plugins that were registered later", async () => {
    const { runtime } = open([], []);
    let opened = 0;
    await runtime.initialize();
    runtime.registry.update(({ plugins }) => {
      plugins["late"] = definePlugin({
        id: "late",
        register() {},
        onInitialize: () => {
          opened += 1;
        },
      });
    });
    await runtime.initialize();
    expect(opened).toBe(1);
  });

  it("was not called: the first run of an agent opens its plugins and waits; other agents do not", async () => {
    const far = sourceOf([]);
    const gate = latch();
    const late = definePlugin({
      id: "late",
      register() {},
      onInitialize: async () => {
        await gate.opened;
        far.set([toolOf("far__one")]);
      },
    });
    const { runtime, offered } = open([text("other"), text("ok")], [], {
      plugins: [far.plugin, late],
      agents: { a: { model: "fast", plugins: ["far", "late"] }, b: { model: "fast", plugins: ["far"] } },
    });
    const waiting = runtime.run({ agent: "a", input: "x" });
    expect(await runtime.run({ agent: "b", input: "x" })).toMatchObject({ text: "other" });
    gate.open();
    expect(await waiting).toMatchObject({ text: "ok" });
    expect(offered()).toEqual([[], ["far__one"]]);
  });

  it("fails the run that needs the plugin when it cannot be opened, with the same words", async () => {
    const broken = definePlugin({ id: "broken", register() {}, onInitialize: () => Promise.reject(new Error("no wire")) });
    const { runtime } = open([], [broken]);
    await expect(runtime.run({ input: "x" })).rejects.toThrow("plugin 'broken' could not be initialized: no wire");
  });

  it("does not hang: a plugin that never opens is left after its limit, and closed when it opens after all", async () => {
    const clock = fakeClock(0);
    const gate = latch();
    let closed = 0;
    const slow = definePlugin({
      id: "slow",
      register() {},
      onInitialize: async () => {
        await gate.opened;
        return () => {
          closed += 1;
        };
      },
    });
    const { runtime } = open([], [slow], { clock, limits: { initializeMs: 50 } });
    const refused = expect(runtime.initialize()).rejects.toMatchObject({ code: "timeout" });
    await clock.advance(50);
    await refused;
    const closing = runtime[Symbol.asyncDispose]();
    gate.open();
    await closing;
    expect(closed).toBe(1);
  });

  it("leaves behind a plugin that does not close, and says so", async () => {
    const clock = fakeClock(0);
    const stuck = definePlugin({ id: "stuck", register() {}, onInitialize: () => () => new Promise<void>(() => {}) });
    const failing = definePlugin({ id: "failing", register() {}, onInitialize: () => () => Promise.reject(new Error("still busy")) });
    const { runtime, log } = open([], [stuck, failing], { clock });
    await runtime.initialize();
    const closing = runtime[Symbol.asyncDispose]();
    await clock.advance(30_000);
    await closing;
    expect(log.lines).toEqual(["plugin 'failing' could not be closed: still busy", "the runtime was closed, but not all of its plugins"]);
  });
});

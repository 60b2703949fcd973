import { describe, expect, it } from "vitest";
import * as z from "zod";
import { stopPolicy } from "../builtin/stop-policy/stop-policy.ts";
import { defineAction } from "../phase/action.ts";
import { command } from "../phase/command.ts";
import { defineEffect } from "../phase/effect.ts";
import { defineProfile } from "../state/define-profile.ts";
import { runLifecycle, terminationOf } from "../state/run-lifecycle.ts";
import { defineTool } from "../tool/define-tool.ts";
import { block } from "../tool/verdict.ts";
import { compileEnv } from "./compile-env.ts";
import { definePlugin, type Plugin } from "./define-plugin.ts";
import { counter, createBench, plugin, slot, thrownBy, turnOf } from "./engine-bench.test-support.ts";
import type { Registrar } from "./registrar.ts";

const total = counter("total");
const act = defineAction("act", { phase: "stepStart", payload: z.number() });
const send = defineEffect("send", { payload: z.string() });
const mood = defineProfile("mood", { schema: z.string(), initial: () => "calm" });
const echo = defineTool({ id: "echo", description: "Says it again", input: z.object({ text: z.string() }), execute: ({ text }) => text });

/** Brings one of everything. */
const full = (id: string) =>
  plugin(id, (r) => {
    r.state(total);
    r.profile(mood);
    r.action(act, (n) => command().update(total, n));
    r.effect(send, () => {});
    r.hook("stepStart", () => undefined);
    r.hook("runEnd", () => undefined);
    r.gate(() => block("no"));
    r.policy(() => ({ type: "audit" }));
    r.tool(echo);
    r.transform((messages) => messages);
  });

describe("compileEnv", () => {
  it("collects what plugins bring, in their order", () => {
    const order: string[] = [];
    const named = (id: string) =>
      plugin(id, (r) => {
        r.hook("stepStart", () => {
          order.push(id);
        });
        r.transform((messages) => messages);
        r.gate(() => undefined);
      });
    const env = compileEnv({ plugins: [named("b"), named("a")], runtimePlugins: [named("own")] });
    expect(env.plugins.map(({ id }) => id)).toEqual(["b", "a", "own"]);
    expect(env.hooks.stepStart.map((entry) => entry.plugin)).toEqual(["b", "a", "own"]);
    expect(env.gates.map((entry) => entry.plugin)).toEqual(["b", "a", "own"]);
    expect(env.transforms).toHaveLength(3);
    expect(env.warnings).toEqual([]);
  });

  it("is frozen, and closed to a registrar that somebody kept", () => {
    const kept: Registrar[] = [];
    const env = compileEnv({ plugins: [full("p"), plugin("keeper", (r) => void kept.push(r))] });
    for (const part of [env, env.plugins, env.hooks, env.stateKeys, env.gates, env.transforms, env.warnings, ...Object.values(env.hooks)]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
    const [late] = kept;
    const other = defineAction("late", { phase: "stepStart", payload: z.number() });
    expect(() => late?.hook("stepStart", () => undefined)).toThrow();
    expect(() => late?.gate(() => undefined)).toThrow();
    late?.action(other, () => undefined);
    late?.effect(defineEffect("late", { payload: z.string() }), () => {});
    late?.tool(defineTool({ ...toolInit, id: "late" }));
    late?.state(counter("late"));
    expect([env.actions.has("late"), env.effects.has("late"), env.tools.has("late"), env.stateKeys.length]).toEqual([
      false,
      false,
      false,
      1,
    ]);
  });

  it("core-execution 25: a filter that names A takes away B's hooks, gates, tools and transforms; its keys and handlers work", async () => {
    const { env, engine, store } = createBench({
      plugins: [plugin("a", (r) => r.hook("stepStart", () => undefined)), full("b")],
      filter: ["a"],
    });
    expect(env.hooks.stepStart.map((entry) => entry.plugin)).toEqual(["a"]);
    expect([env.hooks.runEnd, env.gates, env.transforms]).toEqual([[], [], []]);
    expect(env.tools.size).toBe(0);
    expect(env.stateKeys).toEqual([total]);
    expect(env.profileKeys.get("mood")).toBe(mood);
    await engine.submit(command().update(total, 1).schedule(act, 5).emit(send, "x"));
    await engine.run("stepStart", { step: 1 });
    expect(store.snapshot().get(total)).toBe(6);
    const all = compileEnv({ plugins: [full("b")], filter: [] });
    expect([all.hooks.stepStart.length, all.gates.length, all.tools.size, all.transforms.length]).toEqual([1, 2, 1, 1]);
  });

  it("core-execution 26: with a filter in place the step limit still ends a run that loops (D6)", async () => {
    const { env, engine, store } = createBench({
      plugins: [plugin("a", () => {}), full("b")],
      runtimePlugins: [stopPolicy(3)],
      filter: ["a"],
    });
    expect(env.hooks.afterInference.map((entry) => entry.plugin)).toEqual(["stop-condition:max-steps"]);
    await engine.run("runStart", { isContinuation: false });
    let steps = 0;
    while (terminationOf(store.snapshot().get(runLifecycle)) === undefined && steps < 100) {
      steps += 1;
      await engine.run("afterInference", { step: steps, turn: turnOf(`again ${steps}`), offeredTools: [] });
    }
    expect(steps).toBe(3);
    expect(terminationOf(store.snapshot().get(runLifecycle))).toMatchObject({ type: "stopped", code: "max-steps" });
  });
});

const toolInit = { id: "echo", description: "Another", input: z.object({}), execute: () => 1 };

describe("duplicates", () => {
  const refused = async (...plugins: readonly Plugin[]) => {
    const error = await thrownBy(() => compileEnv({ plugins }));
    return { code: error.code, details: error.details };
  };
  const twice = (register: (r: Registrar) => void) => [plugin("a", register), plugin("b", register)] as const;
  const inOne = (register: (r: Registrar) => void) =>
    plugin("a", (r) => {
      register(r);
      register(r);
    });

  it("core-execution 27: two plugins that register one tool id are refused", async () => {
    const expected = { code: "tool_already_registered", details: { name: "echo", plugins: ["a", "b"] } };
    expect(await refused(...twice((r) => r.tool(echo)))).toEqual(expected);
    expect(
      await refused(
        plugin("a", (r) => r.tool(echo)),
        plugin("b", (r) => r.tool(defineTool(toolInit))),
      ),
    ).toEqual(expected);
    expect((await refused(inOne((r) => r.tool(echo)))).details).toEqual({ name: "echo", plugins: ["a", "a"] });
  });

  it("are no tools when their plugin is filtered out", () => {
    const env = compileEnv({ plugins: [...twice((r) => r.tool(echo))], filter: ["b"] });
    expect(env.tools.get("echo")).toBe(echo);
  });

  it("of a plugin are refused, among the agent's and the runtime's", async () => {
    expect(await refused(full("a"), full("a"))).toEqual({ code: "plugin_already_installed", details: { plugin: "a" } });
    const error = await thrownBy(() => compileEnv({ plugins: [full("a")], runtimePlugins: [full("a")] }));
    expect(error).toMatchObject({ code: "plugin_already_installed", details: { plugin: "a" } });
  });

  it("of a state key are refused: twice in one plugin, or two definitions in two", async () => {
    const code = "key_already_registered";
    expect(await refused(inOne((r) => r.state(total)))).toEqual({ code, details: { name: "total", plugins: ["a", "a"] } });
    expect(
      await refused(
        plugin("a", (r) => r.state(total)),
        plugin("b", (r) => r.state(counter("total"))),
      ),
    ).toEqual({
      code,
      details: { name: "total", plugins: ["a", "b"] },
    });
  });

  it("of a state key are one and the same object in two plugins: that is sharing; but not twice in the second either", async () => {
    const env = compileEnv({ plugins: [...twice((r) => r.state(total)), plugin("c", (r) => r.state(total))] });
    expect(env.stateKeys).toEqual([total]);
    const again = plugin("b", (r) => {
      r.state(total);
      r.state(total);
    });
    expect(
      (
        await refused(
          plugin("a", (r) => r.state(total)),
          again,
        )
      ).code,
    ).toBe("key_already_registered");
  });

  it("of a profile key, an action handler and an effect handler are refused, in one plugin and in two", async () => {
    const cases: readonly (readonly [string, string, (r: Registrar) => void])[] = [
      ["profile_key_already_registered", "mood", (r) => r.profile(mood)],
      ["handler_already_registered", "act", (r) => r.action(act, () => undefined)],
      ["effect_handler_already_registered", "send", (r) => r.effect(send, () => {})],
    ];
    for (const [code, name, register] of cases) {
      expect(await refused(...twice(register))).toEqual({ code, details: { name, plugins: ["a", "b"] } });
      expect(await refused(inOne(register))).toEqual({ code, details: { name, plugins: ["a", "a"] } });
      const filtered = await thrownBy(() => compileEnv({ plugins: [...twice(register)], filter: ["a"] }));
      expect(filtered.code).toBe(code);
    }
  });
});

describe("sections", () => {
  const seen: unknown[] = [];
  const configured = definePlugin({
    id: "budget",
    config: z.strictObject({ capCents: z.number().default(500) }),
    register(_, config) {
      seen.push(config.capCents);
    },
  });
  const elsewhere = definePlugin({
    id: "other",
    section: "shared-part",
    config: z.object({ on: z.boolean() }),
    register(_, { on }) {
      seen.push(on);
    },
  });
  const load = (sections: Parameters<typeof compileEnv>[0]["sections"], plugins = [configured], knownSections: string[] = []) => {
    seen.length = 0;
    return compileEnv({ plugins, knownSections, ...(sections === undefined ? {} : { sections }) });
  };

  it("core-execution 28: an invalid section refuses the agent, by plugin, key and message", async () => {
    const error = await thrownBy(() => load({ budget: { capCents: "many" } }));
    expect(error).toMatchObject({ code: "invalid_plugin_config", details: { plugin: "budget", key: "budget" } });
    expect(error.details["message"]).toMatch(/^capCents: /);
    const named = await thrownBy(() => load({ "shared-part": { on: 1 } }, [elsewhere]));
    expect(named.details).toMatchObject({ plugin: "other", key: "shared-part" });
    for (const wrong of [null, 5, [], { unknown: 1 }]) {
      expect((await thrownBy(() => load({ budget: wrong }))).code).toBe("invalid_plugin_config");
    }
  });

  it("core-execution 28: a section that nobody claims is only a warning", () => {
    const env = load({ bugdet: { capCents: 1 }, budget: { capCents: 2 }, known: {} }, [configured, plugin("plain", () => {})], ["known"]);
    expect(seen).toEqual([2]);
    expect(env.warnings).toEqual(["section 'bugdet' is claimed by no loaded plugin"]);
    expect(load({ plain: { a: 1 } }, [plugin("plain", () => {})]).warnings).toHaveLength(1);
  });

  it("that are absent mean defaults", () => {
    load(undefined);
    expect(seen).toEqual([500]);
    load({});
    expect(seen).toEqual([500]);
    load({ budget: {} });
    expect(seen).toEqual([500]);
  });

  it("that are absent are refused when the schema has no default", async () => {
    expect((await thrownBy(() => load({}, [elsewhere]))).code).toBe("invalid_plugin_config");
  });

  it("named like inherited members are neither found by accident nor lost", async () => {
    const env = load(JSON.parse('{"__proto__": {"capCents": 1}, "constructor": 1}'));
    expect(seen).toEqual([500]);
    expect(env.warnings).toEqual([
      "section '__proto__' is claimed by no loaded plugin",
      "section 'constructor' is claimed by no loaded plugin",
    ]);
    const odd = (id: string) =>
      definePlugin({ id, config: z.object({ n: z.number().default(0) }), register: (_, { n }) => void seen.push(n) });
    load(JSON.parse('{"__proto__": {"n": 7}}'), [odd("__proto__"), odd("constructor")]);
    expect(seen).toEqual([7, 0]);
  });

  it("are checked also for plugins that the filter leaves out", async () => {
    const error = await thrownBy(() => compileEnv({ plugins: [configured], filter: ["x"], sections: { budget: 1 } }));
    expect(error.code).toBe("invalid_plugin_config");
  });

  it("with an asynchronous schema are refused", async () => {
    const later = definePlugin({ id: "later", config: z.object({}).refine(async () => true), register() {} });
    expect((await thrownBy(() => compileEnv({ plugins: [later] }))).code).toBe("invalid_plugin_config");
  });
});

describe("a plugin that is wrong", () => {
  it("needs an id", async () => {
    for (const id of ["", "  "]) expect((await thrownBy(() => plugin(id, () => {}))).code).toBe("invalid_plugin");
  });

  it("throws in register: the whole environment is refused, by the plugin's name", async () => {
    const broken = plugin("broken", () => {
      throw new Error("no");
    });
    const error = await thrownBy(() => compileEnv({ plugins: [full("a"), broken] }));
    expect(error).toMatchObject({ code: "invalid_plugin", details: { plugin: "broken" }, cause: new Error("no") });
  });

  it("registers later: an async register is refused, whether it fails or not", async () => {
    const late = definePlugin({
      id: "late",
      async register(r) {
        await Promise.resolve();
        r.state(total);
      },
    });
    const failing = definePlugin({ id: "late", register: async () => Promise.reject(new Error("no")) });
    for (const one of [late, failing]) {
      expect(await thrownBy(() => compileEnv({ plugins: [one] }))).toMatchObject({ code: "invalid_plugin", details: { plugin: "late" } });
    }
  });

  it("names a phase that does not exist", async () => {
    for (const phase of ["beforeInferense", "toString"]) {
      const wrong = plugin("wrong", (r) => Reflect.apply(r.hook, r, [phase, () => undefined]));
      const error = await thrownBy(() => compileEnv({ plugins: [wrong] }));
      expect(error).toMatchObject({ code: "invalid_plugin", details: { plugin: "wrong" } });
      expect((await thrownBy(() => compileEnv({ plugins: [wrong], filter: ["x"] }))).code).toBe("invalid_plugin");
    }
  });
});

describe("definePlugin", () => {
  it("keeps its callbacks, its section and its schema", () => {
    const config = z.object({});
    const made = definePlugin({
      id: "p",
      section: "part",
      config,
      register() {},
      onActivate: () => command().update(total, 1),
      onDeactivate: () => undefined,
      onBind: () => undefined,
    });
    expect(made).toMatchObject({ id: "p", section: "part", hasConfig: true, config });
    expect(made.onActivate).toBeTypeOf("function");
    const bare = plugin("bare", () => {});
    expect(bare).toMatchObject({ section: "bare", hasConfig: false });
    expect([bare.config, bare.onActivate, bare.onDeactivate, bare.onBind]).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("is loaded anew for each resolution: nothing is shared between two environments", () => {
    const words = slot("words");
    let registered = 0;
    const made = plugin("p", (r) => {
      registered += 1;
      r.state(words);
    });
    const [one, two] = [compileEnv({ plugins: [made] }), compileEnv({ plugins: [made] })];
    expect(registered).toBe(2);
    expect(one.hooks).not.toBe(two.hooks);
  });
});

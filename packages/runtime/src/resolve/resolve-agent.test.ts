import type { LocalAgentSpecInput } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { compaction } from "../builtin/compaction/compaction.ts";
import { contextWindow } from "../builtin/context-window/context-window.ts";
import { knowledgeCutoff } from "../builtin/knowledge-cutoff/knowledge-cutoff.ts";
import { loopActions } from "../builtin/loop-actions/loop-actions.ts";
import { stopPolicy } from "../builtin/stop-policy/stop-policy.ts";
import { PoolCache } from "../inference/pool/pool-cache.ts";
import { definePlugin, type Plugin } from "../plugin/define-plugin.ts";
import { createRegistrySet, type RegistryInit } from "../registry/create-registry-set.ts";
import { BASIC, pluginOf, refusal, stub, toolOf } from "../registry/registry.test-support.ts";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { type ResolveParts, type RuntimePluginInput, resolveAgent } from "./resolve-agent.ts";

const SILENT = { warn() {}, error() {} };

/** What the composition root gives every agent, in the order of the specification. */
function runtimePlugins({ agent, provider, model, policy, knowledgeCutoff: cutoff }: RuntimePluginInput): readonly Plugin[] {
  const { contextPolicy } = agent;
  const own = [loopActions(), stopPolicy(agent.maxSteps, agent.stopConditions)];
  const told = cutoff === undefined ? [] : [knowledgeCutoff(cutoff)];
  if (contextPolicy === undefined) return [...own, ...told];
  const summaries = compaction({ policy: contextPolicy, provider, model, ids: countingIds(), inference: policy, log: SILENT });
  return [...own, ...told, summaries, contextWindow(contextPolicy, agent.instructions)];
}

const partsOf = (): ResolveParts => ({ runtimePlugins, pools: new PoolCache({ clock: fakeClock(), log: SILENT }) });

/** Resolves agent `a`, which is on model `m` of provider `p` unless it says otherwise. */
function resolveA(spec: LocalAgentSpecInput, init: RegistryInit = {}) {
  const set = createRegistrySet({ ...BASIC, ...init, agents: { a: { model: "m", ...spec } } });
  return resolveAgent(set, "a", partsOf());
}

const toolIds = (spec: LocalAgentSpecInput, init: RegistryInit = {}): string[] => [...resolveA(spec, init).plan.tools.keys()];
const pluginIds = (spec: LocalAgentSpecInput, init: RegistryInit = {}): string[] =>
  resolveA(spec, init).plan.env.plugins.map(({ id }) => id);

const withTool = (id: string, tool: string): Plugin => definePlugin({ id, register: (r) => r.tool(toolOf(tool)) });

describe("look-up", () => {
  it("gives the whole plan", () => {
    const model = { provider: "p", model: "upstream", maxOutputTokens: 900 };
    const { plan, warnings } = resolveA(
      { instructions: "s", sections: { retry: { maxRetries: 7 } }, maxContinuationRetries: 1 },
      { models: { m: model }, tools: [toolOf("t")] },
    );
    expect(plan).toMatchObject({
      agent: { id: "a", instructions: "s" },
      model: { upstream: "upstream", maxOutputTokens: 900 },
      policy: { maxRetries: 7, backoffBaseMs: 500, streamIdleTimeoutMs: 60_000, maxContinuationRetries: 1 },
    });
    expect(plan.provider).toBe(BASIC.providers.p);
    expect([...plan.tools.keys()]).toEqual(["t"]);
    expect(warnings).toEqual([]);
    expect(Object.isFrozen(plan) && Object.isFrozen(plan.policy) && Object.isFrozen(plan.model)).toBe(true);
  });

  it("registry-and-runtime 27: without its plugin, model or provider nothing comes back but the matching message", () => {
    let registered = 0;
    const counting = definePlugin({ id: "counting", register: () => void registered++ });
    const plugins = [counting];
    const set = (spec: LocalAgentSpecInput, init: RegistryInit = {}) =>
      createRegistrySet({ ...BASIC, plugins, ...init, agents: { a: { model: "m", plugins: ["counting"], ...spec } } });
    const refused = (...given: Parameters<typeof set>) => refusal(() => resolveAgent(set(...given), "a", partsOf()));
    expect(refused({ plugins: ["counting", "gone"] })).toMatchObject({ code: "plugin_not_found", message: "plugin not found: gone" });
    expect(refused({ model: "x" })).toMatchObject({ code: "model_not_found", message: "model not found: x", details: { modelId: "x" } });
    expect(refused({}, { providers: {} })).toMatchObject({ code: "provider_not_found", message: "provider not found: p" });
    expect(registered).toBe(0);
  });

  it("refuses agents that are not here", () => {
    const set = createRegistrySet({ ...BASIC, agents: { far: { remote: { a2a: "https://x.example" } } } });
    const missing = refusal(() => resolveAgent(set, "nobody", partsOf()));
    expect(missing).toMatchObject({ code: "agent_not_found", message: "agent not found: nobody", details: { agentId: "nobody" } });
    const far = refusal(() => resolveAgent(set, "far", partsOf()));
    expect(far.code).toBe("resolve_failed");
    expect(far.message).toBe("remote agent `far` cannot be resolved locally — use it as a delegate instead");
    for (const id of ["__proto__", "constructor", ""]) {
      expect(refusal(() => resolveAgent(set, id, partsOf())).code).toBe("agent_not_found");
    }
  });

  it("refuses a retry section that it does not understand", () => {
    const error = refusal(() => resolveA({ sections: { retry: { maxRetries: 1, speed: 9 } } }));
    expect(error).toMatchObject({ code: "invalid_plugin_config", details: { section: "retry" } });
  });
});

describe("plugins", () => {
  it("registry-and-runtime 28: without plugins there are exactly the two default ones, and a condition makes a stop-condition plugin", () => {
    expect(pluginIds({})).toEqual(["__loop_action_handlers", "stop-condition:max-steps"]);
    expect(pluginIds({ stopConditions: [{ type: "content-match", pattern: "done" }] })).toEqual([
      "__loop_action_handlers",
      "stop-condition",
    ]);
  });

  it("puts the runtime's own plugins after the agent's, in their order", () => {
    const plugins = [pluginOf("y"), pluginOf("x")];
    const models = { m: { provider: "p", model: "u", knowledgeCutoff: "2025-03" } };
    expect(pluginIds({ plugins: ["x", "y"], contextPolicy: {} }, { plugins, models })).toEqual([
      "x",
      "y",
      "__loop_action_handlers",
      "stop-condition:max-steps",
      "knowledge_cutoff_context",
      "context_compaction",
      "context_transform",
    ]);
  });

  it("tells the runtime's plugins a cutoff only when it is trusted", () => {
    const discovered = new Map([["u", { knowledgeCutoff: "2024-06" }]]);
    const models = { m: { provider: "p", model: "u" } };
    expect(pluginIds({}, { models, providers: { p: { provider: stub(), discovered } } })).toContain("knowledge_cutoff_context");
    expect(pluginIds({}, { models: { m: { provider: "p", model: "gpt-4.1" } } })).not.toContain("knowledge_cutoff_context");
  });

  it("the filter silences the agent's plugins and none of the runtime's", () => {
    const acting = (id: string) => definePlugin({ id, register: (r) => r.hook("afterInference", () => undefined) });
    const { env } = resolveA(
      { plugins: ["x", "y"], activePlugins: ["x"], contextPolicy: {} },
      { plugins: [acting("x"), acting("y")] },
    ).plan;
    expect(env.hooks.afterInference.map(({ plugin }) => plugin)).toEqual(["x", "stop-condition:max-steps"]);
    expect(env.transforms).toHaveLength(1);
  });

  it("registry-and-runtime 32: an invalid section fails, a missing one resolves, and an unclaimed one only warns", () => {
    const budget = definePlugin({ id: "budget", config: z.object({ cap: z.number().default(5) }), register() {} });
    const given = { plugins: ["budget"] };
    const error = refusal(() => resolveA({ ...given, sections: { budget: { cap: "much" } } }, { plugins: [budget] }));
    expect(error.code).toBe("invalid_plugin_config");
    expect(error.message).toMatch(/^invalid config for plugin budget: section "budget" — cap: /);
    expect(resolveA(given, { plugins: [budget] }).warnings).toEqual([]);
    expect(resolveA({ ...given, sections: { other: {} } }, { plugins: [budget] }).warnings).toEqual([
      "section 'other' is claimed by no loaded plugin",
    ]);
  });

  it("knows the sections that the runtime reads itself", () => {
    const set = createRegistrySet({ ...BASIC, agents: { a: { model: "m", sections: { retry: { maxRetries: 1 }, known: {} } } } });
    expect(resolveAgent(set, "a", { ...partsOf(), knownSections: ["known"] }).warnings).toEqual([]);
  });
});

describe("context", () => {
  it("registry-and-runtime 33: a context policy is narrowed to the model", () => {
    const models = { m: { provider: "p", model: "u", contextWindow: 32_000, maxOutputTokens: 4096 } };
    const contextPolicy = { maxContextTokens: 200_000, maxOutputTokens: 16_384, autocompactThreshold: 100_000 };
    const { agent } = resolveA({ contextPolicy }, { models }).plan;
    expect(agent.contextPolicy).toMatchObject({ maxContextTokens: 32_000, maxOutputTokens: 4096, autocompactThreshold: 32_000 - 4096 });
    expect(Object.isFrozen(agent) && Object.isFrozen(agent.contextPolicy)).toBe(true);
    expect(resolveA({}, { models }).plan.agent.contextPolicy).toBeUndefined();
  });

  it("narrows to what is only guessed too, and never widens", () => {
    const models = { m: { provider: "p", model: "gpt-4o" } };
    const { agent, model } = resolveA({ contextPolicy: { maxOutputTokens: 1000 } }, { models }).plan;
    expect(agent.contextPolicy).toMatchObject({ maxContextTokens: 128_000, maxOutputTokens: 1000 });
    // A guess does not cut what a run asks for.
    expect(model.maxOutputTokens).toBeUndefined();
  });

  it("leaves the registered spec as it is", () => {
    const set = createRegistrySet({
      ...BASIC,
      models: { m: { provider: "p", model: "u", contextWindow: 10 } },
      agents: { a: { model: "m", contextPolicy: {} } },
    });
    resolveAgent(set, "a", partsOf());
    expect(set.agents.get("a")).toMatchObject({ contextPolicy: { maxContextTokens: 200_000 } });
  });

  it("asks for summaries by upstream name, from the agent's provider only", () => {
    const models = {
      m: { provider: "p", model: "upstream" },
      small: { provider: "p", model: "upstream-small" },
      far: { provider: "q", model: "x" },
    };
    const init = { models, providers: { p: stub(), q: stub() } };
    const sectionOf = (summaryModel: string) => {
      const { sections } = resolveA({ contextPolicy: {}, sections: { compaction: { summaryModel, summaryMaxTokens: 9 } } }, init).plan
        .agent;
      return sections;
    };
    expect(sectionOf("small")).toEqual({ compaction: { summaryModel: "upstream-small", summaryMaxTokens: 9 } });
    expect(sectionOf("raw-name")).toEqual({ compaction: { summaryModel: "raw-name", summaryMaxTokens: 9 } });
    const error = refusal(() => sectionOf("far"));
    expect(error).toMatchObject({ code: "invalid_plugin_config", details: { agentId: "a", section: "compaction" } });
    expect(error.message).toContain('section "compaction"');
  });
});

describe("tools", () => {
  const tools = ["Bash", "mcp:x", "mcp:y", "foo*bar", "fooXbar"].map(toolOf);

  it("registry-and-runtime 18: without allow fields every tool passes, with both null none, also after a JSON round trip", () => {
    expect(toolIds({}, { tools })).toHaveLength(5);
    expect(toolIds({ tools: null, toolPatterns: null }, { tools })).toEqual([]);
    const { agent } = resolveA({ tools: null, toolPatterns: null }, { tools }).plan;
    expect(toolIds(JSON.parse(JSON.stringify(agent)), { tools })).toEqual([]);
  });

  it("registry-and-runtime 19: patterns allow, and an exclusion wins", () => {
    expect(toolIds({ toolPatterns: ["mcp:*"], excludedTools: ["mcp:x"] }, { tools })).toEqual(["mcp:y"]);
  });

  it("registry-and-runtime 20: an escaped star is a star", () => {
    expect(toolIds({ toolPatterns: ["foo\\*bar"] }, { tools })).toEqual(["foo*bar"]);
  });

  it("registry-and-runtime 30: a plugin's tool must not have the id of a global one", () => {
    const plugins = [withTool("x", "Bash")];
    const error = refusal(() => resolveA({ plugins: ["x"], tools: [] }, { plugins, tools }));
    expect(error).toMatchObject({ code: "tool_id_conflict", details: { toolId: "Bash", sources: ["global", "plugin"] } });
    expect(error.message).toBe('tool ID conflict: "Bash" registered by both global and plugin');
  });

  it("refuses two plugins with a tool of one id", () => {
    const plugins = [withTool("x", "same"), withTool("y", "same")];
    expect(refusal(() => resolveA({ plugins: ["x", "y"] }, { plugins })).code).toBe("tool_already_registered");
  });

  it("registry-and-runtime 31: an excluded plugin tool is gone while global ones stay, and an empty allow list removes everything", () => {
    const plugins = [withTool("x", "own"), withTool("y", "more")];
    const given = { plugins: ["x", "y"] };
    expect(toolIds({ ...given, excludedTools: ["own"] }, { plugins, tools: [toolOf("t")] })).toEqual(["t", "more"]);
    expect(toolIds({ ...given, tools: [] }, { plugins, tools: [toolOf("t")] })).toEqual([]);
  });

  it("leaves the tools of a plugin out that the filter leaves out", () => {
    const plugins = [withTool("x", "own"), withTool("y", "more")];
    expect(toolIds({ plugins: ["x", "y"], activePlugins: ["y"] }, { plugins })).toEqual(["more"]);
  });
});

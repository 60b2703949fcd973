import { describe, expect, it } from "vitest";
import { BASIC, handleOf, pluginOf, refusal, stub, toolOf } from "./registry.test-support.ts";

const UNUSED = { providers: BASIC.providers, models: BASIC.models };
const POOLED = { ...UNUSED, pools: { pool: { members: [{ model: "m" }] } } };
const CASCADE = "cascade-unused-model-bindings";

describe("seed 000", () => {
  it("seed 000: remove provider blocks when model and agent depend on it", () => {
    const handle = handleOf(BASIC);
    expect(handle.previewRemoveProvider("p")).toEqual({
      providerId: "p",
      modelIds: ["m"],
      agentIds: ["a"],
      blockIfReferencedAllowed: false,
      cascadeUnusedModelBindingsAllowed: false,
    });
    expect(refusal(() => handle.removeProvider("p", CASCADE)).message).toContain('agents ["a"]');
  });

  it("seed 000: remove provider cascades unused model bindings", () => {
    const handle = handleOf(BASIC);
    handle.rebuildAgentModelProvider({ providers: { p: stub() }, models: [{ id: "m", provider: "p", model: "upstream" }], agents: [] });
    const impact = handle.removeProvider("p", CASCADE);
    expect(impact.removedModelIds).toEqual(["m"]);
    const { providers, models } = handle.snapshot().registries;
    expect(providers.get("p")).toBeUndefined();
    expect(models.get("m")).toBeUndefined();
  });

  it("seed 000: replace provider keeps model binding and agent", () => {
    const handle = handleOf(BASIC);
    expect(handle.replaceProvider("p", stub())).toBe(2);
    const { providers, models, agents } = handle.snapshot().registries;
    expect([providers.has("p"), models.has("m"), agents.has("a")]).toEqual([true, true, true]);
  });

  it("seed 000: concurrent provider registration preserves all updates", async () => {
    const handle = handleOf(BASIC);
    const ids = Array.from({ length: 16 }, (_, index) => `p-${index}`);
    await Promise.all(ids.map(async (id) => handle.registerProvider(id, stub())));
    const { providers } = handle.snapshot().registries;
    for (const id of ids) expect(providers.has(id), `provider ${id} must survive concurrent updates`).toBe(true);
  });
});

describe("previewRemoveProvider", () => {
  it("registry-and-runtime 5: lists the models and the agents that need them, and neither policy would do", () => {
    const handle = handleOf(BASIC);
    expect(handle.previewRemoveProvider("p")).toMatchObject({
      modelIds: ["m"],
      agentIds: ["a"],
      blockIfReferencedAllowed: false,
      cascadeUnusedModelBindingsAllowed: false,
    });
    expect(handle.version).toBe(1);
  });

  it("registry-and-runtime 10: a remote agent needs no model", () => {
    const handle = handleOf({ ...UNUSED, agents: { far: { remote: { a2a: "https://x.example", options: { model: "m" } } } } });
    expect(handle.previewRemoveProvider("p")).toMatchObject({ modelIds: ["m"], agentIds: [], cascadeUnusedModelBindingsAllowed: true });
  });

  it("sorts, and counts a pool as a model", () => {
    const model = { provider: "p", model: "u" };
    const handle = handleOf({
      providers: { p: stub(), q: stub() },
      models: { z: model, m: model, other: { provider: "q", model: "u" } },
      pools: { b: { members: [{ model: "other" }, { model: "z" }] }, mine: { members: [{ model: "other" }] } },
      agents: { y: { model: "b" }, x: { model: "z" }, c: { model: "mine" } },
    });
    expect(handle.previewRemoveProvider("p")).toMatchObject({ modelIds: ["b", "m", "z"], agentIds: ["x", "y"] });
  });

  it("does not know a provider that is not there", () => {
    const error = refusal(() => handleOf(BASIC).previewRemoveProvider("x"));
    expect(error).toMatchObject({ code: "provider_not_found", message: "provider not found: x", details: { providerId: "x" } });
  });
});

describe("removeProvider", () => {
  it("registry-and-runtime 6: refuses to take away what an agent needs, and changes nothing", () => {
    const handle = handleOf(BASIC);
    const before = handle.snapshot();
    const error = refusal(() => handle.removeProvider("p", CASCADE));
    expect(error.message).toBe(`provider 'p' is still referenced by models ["m"] and agents ["a"]`);
    expect(error).toMatchObject({ code: "provider_in_use", details: { providerId: "p", modelIds: ["m"], agentIds: ["a"] } });
    expect(handle.snapshot()).toBe(before);
  });

  it.each([CASCADE, "cascade-unused-models"] as const)("registry-and-runtime 7: %s takes the unused models along", (policy) => {
    const handle = handleOf(UNUSED);
    expect(handle.removeProvider("p", policy)).toEqual({ providerId: "p", removedModelIds: ["m"], affectedAgentIds: [] });
    const { providers, models } = handle.snapshot().registries;
    expect([providers.size, models.size, handle.version]).toEqual([0, 0, 2]);
  });

  it("registry-and-runtime 8: the block policy refuses even unused models", () => {
    const handle = handleOf(UNUSED);
    const error = refusal(() => handle.removeProvider("p", "block-if-referenced"));
    expect(error.code).toBe("provider_in_use");
    expect(error.message).toBe(`provider 'p' is still referenced by models ["m"] and agents []`);
    expect(handle.version).toBe(1);
  });

  it.each(["block-if-referenced", CASCADE] as const)("registry-and-runtime 9: %s removes a provider without models", (policy) => {
    const handle = handleOf({ ...BASIC, providers: { ...BASIC.providers, idle: stub() } });
    expect(handle.removeProvider("idle", policy)).toEqual({ providerId: "idle", removedModelIds: [], affectedAgentIds: [] });
    expect(handle.version).toBe(2);
    expect([...handle.snapshot().registries.providers.keys()]).toEqual(["p"]);
  });

  it("registry-and-runtime 13: a pool blocks removal like an agent, and survives when another provider is registered", () => {
    const handle = handleOf(POOLED);
    const error = refusal(() => handle.removeProvider("p", CASCADE));
    expect(error.message).toBe(`provider 'p' is still referenced by models ["m", "pool"] and agents []`);
    expect(handle.previewRemoveProvider("p").cascadeUnusedModelBindingsAllowed).toBe(false);
    const pool = handle.snapshot().registries.pools.get("pool");
    handle.registerProvider("q", stub());
    expect(handle.snapshot().registries.pools.get("pool")).toBe(pool);
  });

  it("refuses unknown providers and unknown policies", () => {
    const handle = handleOf(UNUSED);
    expect(refusal(() => handle.removeProvider("x", CASCADE)).message).toBe("provider not found: x");
    const error = refusal(() => Reflect.apply(handle.removeProvider, handle, ["p", "everything"]));
    expect(error).toMatchObject({ code: "config_validation_failed" });
    expect(error.message).toBe("config validation failed: unknown provider removal policy 'everything'");
    expect(handle.version).toBe(1);
  });

  it("quotes ids so that the list stays readable", () => {
    const handle = handleOf({ providers: { p: stub() }, models: { 'a "b", c': { provider: "p", model: "u" } } });
    expect(refusal(() => handle.removeProvider("p", "block-if-referenced")).message).toContain('models ["a \\"b\\", c"]');
  });
});

describe("registerProvider and replaceProvider", () => {
  it("registry-and-runtime 11: an id is registered once, and only what is there can be replaced", () => {
    const handle = handleOf(BASIC);
    const twice = refusal(() => handle.registerProvider("p", stub()));
    expect(twice).toMatchObject({
      code: "provider_already_exists",
      message: "provider already registered: p",
      details: { providerId: "p" },
    });
    const unknown = refusal(() => handle.replaceProvider("x", stub()));
    expect(unknown).toMatchObject({ code: "provider_not_found", message: "provider not found: x" });
    expect(handle.version).toBe(1);
  });

  it("registry-and-runtime 12: replacing leaves models, agents, pools and plugins as they are, at version 2", () => {
    const handle = handleOf({ ...POOLED, agents: BASIC.agents, plugins: [pluginOf("x")], tools: [toolOf("t")] });
    const before = handle.snapshot().registries;
    const next = stub("next");
    expect(handle.replaceProvider("p", next)).toBe(2);
    const after = handle.snapshot().registries;
    expect(after.providers.get("p")?.provider).toBe(next);
    for (const name of ["models", "agents", "pools", "plugins", "tools"] as const) expect(after[name]).toBe(before[name]);
  });

  it("forgets what was known about a provider only when that one is replaced", () => {
    const known = { signature: "sig", capabilitySource: "openai", discovered: new Map([["u", { contextWindow: 5 }]]) };
    const handle = handleOf({ ...BASIC, providers: { p: { provider: stub("one"), ...known }, q: { provider: stub(), ...known } } });
    handle.registerProvider("r", stub());
    handle.removeProvider("r", "block-if-referenced");
    const kept = handle.snapshot().registries.providers.get("p");
    expect(kept).toMatchObject({ signature: "sig", capabilitySource: "openai" });
    handle.replaceProvider("p", stub("two"));
    const { providers } = handle.snapshot().registries;
    expect(providers.get("p")).toMatchObject({ signature: "two", capabilitySource: undefined });
    expect(providers.get("p")?.discovered.size).toBe(0);
    expect(providers.get("q")).toMatchObject({ signature: "sig" });
  });

  it("replaces a whole list of discovered models", () => {
    const handle = handleOf({ ...BASIC, providers: { p: { provider: stub(), signature: "sig", discovered: new Map([["old", {}]]) } } });
    expect(handle.setCapabilities("p", new Map([["models/New", { contextWindow: 9 }]]))).toBe(2);
    const entry = handle.snapshot().registries.providers.get("p");
    expect([...(entry?.discovered ?? [])]).toEqual([["new", { contextWindow: 9 }]]);
    expect(entry?.signature).toBe("sig");
    expect(refusal(() => handle.setCapabilities("x", new Map())).code).toBe("provider_not_found");
  });

  it("refuses what is no provider", () => {
    const handle = handleOf(BASIC);
    expect(refusal(() => Reflect.apply(handle.registerProvider, handle, ["q", {}])).code).toBe("registry_build_failed");
    expect(refusal(() => handle.registerProvider("", stub())).code).toBe("invalid_id");
    expect(refusal(() => handle.registerProvider("__proto__", stub())).code).toBe("invalid_id");
    expect(handle.version).toBe(1);
  });
});

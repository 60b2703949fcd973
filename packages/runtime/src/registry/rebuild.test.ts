import { describe, expect, it } from "vitest";
import { BASIC, backendOf, handleOf, pluginOf, refusal, stub, toolOf } from "./registry.test-support.ts";

const UNUSED = { providers: BASIC.providers, models: BASIC.models };
const POOLED = { ...UNUSED, pools: { pool: { members: [{ model: "m" }] } } };

describe("rebuildAgentModelProvider", () => {
  const fresh = {
    providers: { n: stub("n") },
    models: { m: { provider: "n", model: "u" } },
    agents: { b: { model: "pool" }, c: { model: "m" } },
  };

  it("takes what the given object has from its class", () => {
    class Managed {
      readonly #given = fresh;
      get providers() {
        return this.#given.providers;
      }
      get models() {
        return this.#given.models;
      }
      get agents() {
        return this.#given.agents;
      }
    }
    const make = () => handleOf({ ...POOLED, agents: BASIC.agents });
    const [own, managed] = [make(), make()];
    own.rebuildAgentModelProvider(fresh);
    managed.rebuildAgentModelProvider(new Managed());
    const idsOf = ({ registries }: ReturnType<typeof own.snapshot>) => [[...registries.models.keys()], [...registries.agents.keys()]];
    expect(idsOf(managed.snapshot())).toEqual(idsOf(own.snapshot()));
    expect(idsOf(own.snapshot()).flat()).not.toEqual([]);
  });

  it("replaces providers, models and agents, and keeps everything else", () => {
    const handle = handleOf({
      ...POOLED,
      agents: BASIC.agents,
      tools: [toolOf("t")],
      plugins: [pluginOf("x")],
      backends: [backendOf("a2a")],
    });
    const before = handle.snapshot().registries;
    expect(handle.rebuildAgentModelProvider(fresh)).toBe(2);
    const after = handle.snapshot().registries;
    expect([...after.providers.keys(), ...after.models.keys(), ...after.agents.keys()]).toEqual(["n", "m", "b", "c"]);
    for (const name of ["pools", "tools", "plugins", "backends"] as const) expect(after[name]).toBe(before[name]);
  });

  it("registry-and-runtime 14: two models of one id are refused, and the old set stays published", () => {
    const handle = handleOf(BASIC);
    const before = handle.snapshot();
    const x = { id: "x", provider: "p", model: "u" };
    const error = refusal(() => handle.rebuildAgentModelProvider({ ...fresh, models: [x, x] }));
    expect(error.message).toBe("config validation failed: duplicate model id 'x'");
    expect(error.code).toBe("config_validation_failed");
    expect(handle.snapshot()).toBe(before);
  });

  it("refuses doubled agents, pools over missing models, and ids that a pool has", () => {
    const handle = handleOf(POOLED);
    const doubled = refusal(() => handle.rebuildAgentModelProvider({ ...fresh, agents: [{ id: "a" }, { id: "a" }] }));
    expect(doubled).toMatchObject({ code: "registry_build_failed" });
    expect(doubled.message).toBe("registry build failed: agent registry conflict: agent 'a' already registered");
    const missing = refusal(() => handle.rebuildAgentModelProvider({ ...fresh, models: {}, agents: {} }));
    expect(missing.message).toBe("registry validation failed: model pool 'pool' references missing model 'm'");
    const taken = refusal(() => handle.rebuildAgentModelProvider({ ...fresh, models: { ...fresh.models, pool: fresh.models.m } }));
    expect(taken.message).toContain("model 'pool' already registered as a pool");
    expect(handle.version).toBe(1);
  });

  it("takes other pools when they are given", () => {
    const handle = handleOf(POOLED);
    handle.rebuildAgentModelProvider({ ...fresh, agents: {}, pools: [] });
    expect(handle.snapshot().registries.pools.size).toBe(0);
  });

  it("keeps what is known about a provider that stays the same object", () => {
    const provider = stub();
    const known = { signature: "sig", discovered: new Map([["u", { contextWindow: 5 }]]) };
    const handle = handleOf({ ...UNUSED, providers: { p: { provider, ...known } } });
    const entry = handle.snapshot().registries.providers.get("p");
    handle.rebuildAgentModelProvider({ providers: { p: provider }, models: UNUSED.models, agents: {} });
    expect(handle.snapshot().registries.providers.get("p")).toMatchObject({ provider, signature: "sig" });
    expect([...(handle.snapshot().registries.providers.get("p")?.discovered ?? [])]).toEqual([...(entry?.discovered ?? [])]);
  });
});

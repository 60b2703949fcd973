import { describe, expect, it } from "vitest";
import { createRegistrySet } from "./create-registry-set.ts";
import { BASIC, backendOf, pluginOf, refusal, stub, toolOf } from "./registry.test-support.ts";

const MODEL = { provider: "p", model: "upstream" };
const POOL = { members: [{ model: "m" }] };

describe("createRegistrySet", () => {
  it("takes what a user writes and keeps it in the order of registration", () => {
    const set = createRegistrySet({ ...BASIC, tools: [toolOf("z"), toolOf("b")], plugins: [pluginOf("y"), pluginOf("c")] });
    expect([...set.tools.keys()]).toEqual(["z", "b"]);
    expect([...set.plugins.keys()]).toEqual(["y", "c"]);
    expect(set.models.get("m")).toEqual({ id: "m", provider: "p", model: "upstream" });
    expect(set.agents.get("a")).toMatchObject({ id: "a", type: "local", maxSteps: 16, toolPatterns: ["*"] });
    expect(set.providers.get("p")).toMatchObject({ provider: BASIC.providers.p, signature: "stub", capabilitySource: undefined });
    expect([...set.pools.keys(), ...set.backends.keys()]).toEqual([]);
  });

  it("takes the lists of a file", () => {
    const set = createRegistrySet({
      providers: BASIC.providers,
      models: [{ id: "m", ...MODEL }],
      agents: [{ id: "a", model: "m" }],
      pools: [{ id: "pool", ...POOL }],
      backends: [backendOf("a2a")],
    });
    expect([...set.models.keys(), ...set.agents.keys(), ...set.pools.keys(), ...set.backends.keys()]).toEqual(["m", "a", "pool", "a2a"]);
  });

  it("registry-and-runtime 15: a model id equal to a pool id is a conflict of the model registry", () => {
    const error = refusal(() => createRegistrySet({ ...BASIC, pools: { m: POOL } }));
    expect(error).toMatchObject({ code: "registry_conflict", details: { category: "model", id: "m" } });
    expect(error.message).toBe("model registry conflict: pool 'm' already registered as a model");
  });

  it.each([
    ["agent", { agents: [{ id: "x" }, { id: "x" }] }],
    ["tool", { tools: [toolOf("x"), toolOf("x")] }],
    ["plugin", { plugins: [pluginOf("x"), pluginOf("x")] }],
    ["backend", { backends: [backendOf("x"), backendOf("x")] }],
  ])("refuses a second %s of one id", (category, init) => {
    const error = refusal(() => createRegistrySet(init));
    expect(error).toMatchObject({ code: "registry_conflict", details: { category, id: "x" } });
    expect(error.message).toBe(`${category} registry conflict: ${category} 'x' already registered`);
  });

  it("refuses a second pool of one id as a conflict of the model registry", () => {
    const error = refusal(() =>
      createRegistrySet({
        pools: [
          { id: "x", ...POOL },
          { id: "x", ...POOL },
        ],
      }),
    );
    expect(error.message).toBe("model registry conflict: pool 'x' already registered");
  });

  it("names a doubled model of a file before it looks at anything else", () => {
    const models = [
      { id: "x", ...MODEL },
      { id: "x", ...MODEL },
    ];
    const error = refusal(() => createRegistrySet({ models, agents: [{ id: "x", maxSteps: -1 }], tools: [toolOf("t"), toolOf("t")] }));
    expect(error).toMatchObject({ code: "config_validation_failed", details: { modelId: "x" } });
    expect(error.message).toBe("config validation failed: duplicate model id 'x'");
  });

  it("checks every spec, also one that a program made", () => {
    expect(refusal(() => createRegistrySet({ models: { m: { ...MODEL, contextWindow: 0 } } })).code).toBe("invalid_spec");
    expect(refusal(() => createRegistrySet({ pools: { p: { members: [] } } })).message).toContain("must declare at least one member");
    expect(refusal(() => createRegistrySet({ agents: { a: { maxSteps: 1.5 } } })).details).toMatchObject({ kind: "agent", id: "a" });
  });
});

describe("what is registered", () => {
  it("cannot be changed through a look-up, nor through what it was made from", () => {
    const input = { model: "m", sections: { notes: { list: ["one"] } }, plugins: ["x"] };
    const discovered = new Map([["M", { contextWindow: 10 }]]);
    const set = createRegistrySet({ agents: { a: input }, providers: { p: { provider: stub(), discovered } } });
    input.sections.notes.list.push("two");
    input.plugins.push("y");
    discovered.set("n", { contextWindow: 11 });
    const agent = set.agents.get("a");
    expect(agent).toMatchObject({ sections: { notes: { list: ["one"] } }, plugins: ["x"] });
    expect(Object.isFrozen(set) && Object.isFrozen(agent) && Object.isFrozen(Reflect.get(Object(agent), "plugins"))).toBe(true);
    expect(() => Object.assign(Object(agent), { model: "other" })).toThrow(TypeError);
    const provider = set.providers.get("p");
    expect([...(provider?.discovered ?? [])]).toEqual([["m", { contextWindow: 10 }]]);
    expect(Object.isFrozen(provider) && Object.isFrozen(provider?.discovered.get("m"))).toBe(true);
  });

  it("knows a provider's models by their normalised names", () => {
    const discovered = new Map([[" models/Gemini-2.5-Pro ", { contextWindow: 7 }]]);
    const set = createRegistrySet({ providers: { g: { provider: stub(), signature: "sig", capabilitySource: "gemini", discovered } } });
    expect(set.providers.get("g")).toMatchObject({ signature: "sig", capabilitySource: "gemini" });
    expect([...(set.providers.get("g")?.discovered.keys() ?? [])]).toEqual(["gemini-2.5-pro"]);
  });
});

describe("bad input", () => {
  /** What code without types can do. */
  const refusedJson = (json: string) => refusal(() => Reflect.apply(createRegistrySet, undefined, [JSON.parse(json)]));

  it("refuses reserved and blank ids", () => {
    expect(refusedJson('{"agents":{"__proto__":{"model":"m"}}}').message).toContain("reserved name");
    expect(refusedJson('{"models":{"__proto__":{"provider":"p","model":"m"}}}').code).toBe("invalid_spec");
    expect(refusal(() => createRegistrySet({ agents: { " ": {} } })).code).toBe("invalid_spec");
    expect(refusal(() => createRegistrySet({ providers: { "": stub() } })).code).toBe("invalid_id");
    expect(refusal(() => createRegistrySet({ providers: Object.fromEntries([["__proto__", stub()]]) })).code).toBe("invalid_id");
  });

  it("takes names that every object has for what they are: ids", () => {
    const set = createRegistrySet({ agents: { constructor: {}, toString: {} }, tools: [toolOf("__proto__")] });
    expect([...set.agents.keys()]).toEqual(["constructor", "toString"]);
    expect(set.tools.has("__proto__")).toBe(true);
    expect(set.agents.get("hasOwnProperty")).toBeUndefined();
  });

  it("refuses what is not a provider, a tool, a plugin, a backend or a table", () => {
    expect(refusedJson('{"providers":{"p":{"name":"p"}}}')).toMatchObject({
      code: "registry_build_failed",
      message: "registry build failed: provider 'p' must have a name and a stream function, or a complete function",
    });
    expect(refusedJson('{"tools":[{"id":"t"}]}').code).toBe("invalid_tool");
    expect(refusedJson('{"plugins":[{"id":"x"}]}').code).toBe("invalid_plugin");
    expect(refusedJson('{"tools":[null]}').code).toBe("invalid_spec");
    expect(refusedJson('{"backends":[{}]}').code).toBe("invalid_spec");
    expect(refusedJson('{"models":[{"provider":"p","model":"m"}]}').message).toContain("field 'id' is required");
    expect(refusedJson('{"agents":"many"}').code).toBe("registry_build_failed");
  });

  it("refuses a spec that contains itself", () => {
    const loop: Record<string, unknown> = {};
    Object.assign(loop, { left: loop, right: loop });
    expect(refusal(() => createRegistrySet({ agents: { a: { sections: Object(loop) } } })).message).toContain("nested deeper");
  });
});

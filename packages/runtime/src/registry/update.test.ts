import { describe, expect, it } from "vitest";
import { BASIC, handleOf, pluginOf, refusal, stub, toolOf } from "./registry.test-support.ts";
import type { RegistryDraft } from "./registry-set.ts";

/** Ids, as variables: two checkers disagree about literal keys. */
const [A, B, M, POOL] = ["a", "b", "m", "pool"] as const;
const POOLED = { ...BASIC, pools: { pool: { members: [{ model: "m" }] } }, tools: [toolOf("t")], plugins: [pluginOf("x")] };

describe("update", () => {
  it("publishes what was written into the draft, and shares every table that was left alone", () => {
    const handle = handleOf(POOLED);
    const before = handle.snapshot().registries;
    const version = handle.update((draft) => {
      draft.agents[A] = { ...draft.agents[A], instructions: "Be kind." };
      expect(draft.agents[A]).toMatchObject({ instructions: "Be kind." });
    });
    const after = handle.snapshot().registries;
    expect(version).toBe(2);
    expect(after.agents.get("a")).toMatchObject({ model: "m", instructions: "Be kind." });
    expect(before.agents.get("a")).toMatchObject({ instructions: "s" });
    for (const name of ["providers", "models", "pools", "tools", "plugins", "backends"] as const) expect(after[name]).toBe(before[name]);
  });

  it("reads and writes like records", () => {
    const handle = handleOf(POOLED);
    handle.update((draft) => {
      draft.agents[B] = { model: "pool" };
      expect(Object.keys(draft.agents)).toEqual(["a", "b"]);
      expect("b" in draft.agents).toBe(true);
      delete draft.agents[B];
      expect("b" in draft.agents).toBe(false);
      expect(draft.agents[B]).toBeUndefined();
      Reflect.deleteProperty(draft.agents, "never");
      Object.assign(draft.agents, { c: { model: "pool" }, d: { model: "m" } });
      Object.defineProperty(draft.tools, "t2", { value: toolOf("t2") });
      expect(Object.entries(draft.agents).map(([id]) => id)).toEqual(["a", "c", "d"]);
      expect({ ...draft.models }).toEqual({ m: { id: "m", provider: "p", model: "upstream" } });
      expect(Object.hasOwn(draft.models, "toString")).toBe(false);
      expect(Reflect.get(draft.models, "constructor")).toBeUndefined();
    });
    const { agents, tools } = handle.snapshot().registries;
    expect([...agents.keys()]).toEqual(["a", "c", "d"]);
    expect([...tools.keys()]).toEqual(["t", "t2"]);
  });

  it("counts an edit that changes nothing", () => {
    const handle = handleOf(BASIC);
    const { agents } = handle.snapshot().registries;
    expect(handle.update((draft) => Object.assign(draft.agents, draft.agents))).toBe(2);
    expect(handle.snapshot().registries.agents).toBe(agents);
  });

  it("registry-and-runtime 15: registering a model under a pool's id, or a pool under a model's, is a model registry conflict", () => {
    const handle = handleOf(POOLED);
    const asModel = refusal(() =>
      handle.update((draft) => {
        draft.models[POOL] = { provider: "p", model: "u" };
      }),
    );
    expect(asModel).toMatchObject({ code: "registry_build_failed", details: { category: "model", id: "pool" } });
    expect(asModel.message).toBe("registry build failed: model registry conflict: model 'pool' already registered as a pool");
    const asPool = refusal(() =>
      handle.update((draft) => {
        draft.pools[M] = { members: [{ model: "m" }] };
      }),
    );
    expect(asPool.message).toBe("registry build failed: model registry conflict: pool 'm' already registered as a model");
    expect(handle.version).toBe(1);
    // Giving the id up first is fine.
    handle.update((draft) => {
      delete draft.pools[POOL];
      draft.models[POOL] = { provider: "p", model: "u" };
    });
    expect(handle.snapshot().registries.models.has("pool")).toBe(true);
  });

  it("publishes nothing when a spec is wrong, an id does not fit, or a reference leads nowhere", () => {
    const handle = handleOf(POOLED);
    const edits: readonly [string, (draft: RegistryDraft) => void][] = [
      ["invalid_spec", ({ agents }) => Object.assign(agents, { fine: { model: "m" }, bad: { maxSteps: -1 } })],
      ["invalid_spec", ({ agents }) => Object.assign(agents, { a: undefined })],
      ["invalid_spec", ({ agents }) => Object.assign(agents, { absent: undefined })],
      ["invalid_spec", ({ agents }) => Object.assign(agents, { a: { id: "b", model: "m" } })],
      ["invalid_spec", ({ agents }) => Reflect.set(agents, "__proto__", { model: "m" })],
      ["registry_build_failed", ({ tools }) => Object.assign(tools, { other: toolOf("t") })],
      ["registry_build_failed", ({ providers }) => Object.assign(providers, { p: 7 })],
      ["invalid_id", ({ providers }) => Object.assign(providers, { " ": stub() })],
      ["registry_validation_failed", ({ agents }) => Object.assign(agents, { a: { model: "m", plugins: ["y"] } })],
      ["registry_validation_failed", ({ models }) => Reflect.deleteProperty(models, "m")],
    ];
    for (const [code, edit] of edits) expect(refusal(() => handle.update((draft) => void edit(draft))).code).toBe(code);
    expect(handle.version).toBe(1);
    expect(() => handle.update((draft) => void Object.assign(Object(draft.agents[A]), { model: "x" }))).toThrow(TypeError);
    expect(() => handle.update((draft) => void Object.assign(draft, { agents: {} }))).toThrow(TypeError);
    expect(() => handle.update((draft) => void Object.assign(draft.agents, { [Symbol("s")]: {} }))).toThrow(TypeError);
    expect(() => handle.update((draft) => void Object.setPrototypeOf(draft.agents, { evil: {} }))).toThrow(TypeError);
    expect(() => handle.update((draft) => void Object.freeze(draft.agents))).toThrow(TypeError);
    expect(handle.version).toBe(1);
  });

  it("takes a draft that contains itself for a wrong spec", () => {
    const handle = handleOf(BASIC);
    const edit = (draft: RegistryDraft) => void Object.assign(draft.agents, { a: { model: "m", sections: { all: draft } } });
    expect(refusal(() => handle.update(edit)).code).toBe("invalid_spec");
    const loop = { model: "m", sections: {} };
    loop.sections = { loop };
    expect(refusal(() => handle.update((draft) => void Object.assign(draft.agents, { loop }))).message).toContain("nested deeper");
  });

  it("is over when it returns: neither the draft nor what was put into it reaches the snapshot", () => {
    const handle = handleOf(BASIC);
    const input = { model: "m", instructions: "one", plugins: [] as string[] };
    const kept: RegistryDraft[] = [];
    handle.update((draft) => {
      kept.push(draft);
      draft.agents[B] = input;
    });
    input.instructions = "two";
    input.plugins.push("x");
    const published = handle.snapshot().registries.agents.get("b");
    expect(published).toMatchObject({ instructions: "one", plugins: [] });
    const [draft] = kept;
    expect(refusal(() => Object.assign(Object(draft?.agents), { c: {} })).message).toContain("belongs to an update that is over");
    expect(refusal(() => Reflect.deleteProperty(Object(draft?.agents), "a")).code).toBe("registry_build_failed");
    expect(handle.version).toBe(2);
  });

  it("touches nothing but what it changes, however much there is", () => {
    const agents = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`agent-${n}`, { model: "m", instructions: String(n) }]));
    const handle = handleOf({ ...BASIC, agents });
    const before = handle.snapshot().registries;
    for (let n = 0; n < 200; n++) {
      handle.update((draft) => {
        draft.agents[`agent-${n}`] = { model: "m", instructions: "edited" };
      });
    }
    const after = handle.snapshot().registries;
    expect([handle.version, after.agents.size]).toEqual([201, 3000]);
    expect([...after.agents.keys()]).toEqual([...before.agents.keys()]);
    const shared = [...after.agents].filter(([id, agent]) => agent === before.agents.get(id));
    expect(shared).toHaveLength(2800);
    expect(before.agents.get("agent-7")).toMatchObject({ instructions: "7" });
  });

  it("refuses an async function, whose writes would come too late", async () => {
    const handle = handleOf(BASIC);
    const late = async (draft: RegistryDraft) => {
      await Promise.resolve();
      draft.agents[A] = { model: "m", instructions: "late" };
    };
    expect(refusal(() => handle.update(late)).message).toContain("updateAsync");
    await new Promise((resolve) => setImmediate(resolve));
    expect(handle.snapshot().registries.agents.get("a")).toMatchObject({ instructions: "s" });
    expect(handle.version).toBe(1);
  });

  it("may be called from inside an update: both are published", () => {
    const handle = handleOf(BASIC);
    handle.update((draft) => {
      handle.registerProvider("inner", stub());
      draft.agents[B] = { model: "m" };
    });
    const { providers, agents } = handle.snapshot().registries;
    expect([handle.version, providers.has("inner"), agents.has("b")]).toEqual([3, true, true]);
  });
});

describe("updateAsync", () => {
  const pause = () => new Promise<void>((resolve) => setImmediate(resolve));
  const append = (text: string) => async (draft: RegistryDraft) => {
    const { instructions = "" } = { instructions: "", ...draft.agents[A] };
    await pause();
    draft.agents[A] = { model: "m", instructions: instructions + text };
  };

  it("runs such updates one after the other, each on the result of the one before", async () => {
    const handle = handleOf(BASIC);
    expect(await Promise.all(["1", "2", "3"].map((text) => handle.updateAsync(append(text))))).toEqual([2, 3, 4]);
    expect(handle.snapshot().registries.agents.get("a")).toMatchObject({ instructions: "s123" });
  });

  it("is not poisoned by one that fails", async () => {
    const handle = handleOf(BASIC);
    const failing = handle.updateAsync(async () => {
      await pause();
      throw new Error("no");
    });
    const next = handle.updateAsync(append("!"));
    await expect(failing).rejects.toThrow("no");
    expect(await next).toBe(2);
    await expect(handle.updateAsync(async ({ agents }) => void Object.assign(agents, { a: { model: "x" } }))).rejects.toMatchObject({
      code: "registry_validation_failed",
    });
    expect(handle.version).toBe(2);
  });

  it("keeps what others publish while it waits", async () => {
    const handle = handleOf(BASIC);
    const update = handle.updateAsync(append("!"));
    await Promise.resolve();
    handle.registerProvider("q", stub());
    expect(handle.version).toBe(2);
    expect(await update).toBe(3);
    const { providers, agents } = handle.snapshot().registries;
    expect(providers.has("q")).toBe(true);
    expect(agents.get("a")).toMatchObject({ instructions: "s!" });
  });

  it("does not write back what it only copied", async () => {
    const handle = handleOf(BASIC);
    const update = handle.updateAsync(async (draft) => {
      const mine = draft.agents[A];
      await pause();
      draft.agents[A] = { model: "m", instructions: "second thoughts" };
      if (mine !== undefined) draft.agents[A] = mine;
      draft.agents[B] = { model: "m" };
    });
    await Promise.resolve();
    handle.update((draft) => {
      draft.agents[A] = { model: "m", instructions: "theirs" };
    });
    expect(await update).toBe(3);
    expect(handle.snapshot().registries.agents.get("a")).toMatchObject({ instructions: "theirs" });
    expect(handle.snapshot().registries.agents.has("b")).toBe(true);
  });

  it("rejects when somebody else changed the same entry meanwhile: neither write is lost silently", async () => {
    const handle = handleOf(BASIC);
    const update = handle.updateAsync(append("!"));
    await Promise.resolve();
    handle.update((draft) => {
      draft.agents[A] = { model: "m", instructions: "mine" };
    });
    await expect(update).rejects.toMatchObject({
      code: "registry_conflict",
      message: "agent 'a' was changed by another update in the meantime",
      details: { category: "agent", id: "a" },
    });
    expect(handle.snapshot().registries.agents.get("a")).toMatchObject({ instructions: "mine" });
    expect(handle.version).toBe(2);
  });
});

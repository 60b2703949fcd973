import { describe, expect, it } from "vitest";
import { createRegistrySet } from "./create-registry-set.ts";
import { BASIC, handleOf, refusal, stub, toolOf } from "./registry.test-support.ts";
import type { RegistryDraft } from "./registry-set.ts";

const A = "a";
const other = () => createRegistrySet({ ...BASIC, agents: { b: { model: "m" } } });

describe("RegistryHandle", () => {
  it("registry-and-runtime 1: a new handle is at version 1, a replaced one at 2, and after a throwing update still at 2 with the same set", () => {
    const handle = handleOf(BASIC);
    expect(handle.version).toBe(1);
    const set = other();
    expect(handle.replace(set)).toBe(2);
    expect(handle.snapshot()).toMatchObject({ version: 2, registries: set });
    const boom = new Error("boom");
    const broken = (draft: RegistryDraft) => {
      delete draft.agents[A];
      throw boom;
    };
    expect(() => handle.update(broken)).toThrow(boom);
    expect(handle.version).toBe(2);
    expect(handle.snapshot().registries).toBe(set);
  });

  it("registry-and-runtime 2: a held snapshot still lists the old agents after a replace", () => {
    const handle = handleOf(BASIC);
    const held = handle.snapshot();
    handle.replace(other());
    expect([...held.registries.agents.keys()]).toEqual(["a"]);
    expect(held.version).toBe(1);
    expect([...handle.snapshot().registries.agents.keys()]).toEqual(["b"]);
  });

  it("registry-and-runtime 3: 16 concurrent registrations all survive", async () => {
    const handle = handleOf(BASIC);
    const ids = Array.from({ length: 16 }, (_, index) => `p-${index}`);
    await Promise.all(
      ids.map(async (id, index) => {
        for (let turn = 0; turn < index % 5; turn++) await Promise.resolve();
        handle.registerProvider(id, stub(id));
      }),
    );
    expect([...handle.snapshot().registries.providers.keys()].sort()).toEqual(["p", ...ids].sort());
    expect(handle.version).toBe(17);
  });

  it("registry-and-runtime 4: while an async update is in progress, a snapshot is the old version, at once", async () => {
    const handle = handleOf(BASIC);
    const gate = Promise.withResolvers<void>();
    const update = handle.updateAsync(async (draft) => {
      draft.agents[A] = { model: "m", instructions: "new" };
      await gate.promise;
    });
    await Promise.resolve();
    expect(handle.snapshot().version).toBe(1);
    expect(handle.snapshot().registries.agents.get("a")).toMatchObject({ instructions: "s" });
    gate.resolve();
    expect(await update).toBe(2);
    expect(handle.snapshot().registries.agents.get("a")).toMatchObject({ instructions: "new" });
  });

  it("replace publishes without a look at the set", () => {
    const handle = handleOf(BASIC);
    expect(handle.replace(createRegistrySet({ agents: { a: { model: "nowhere" } } }))).toBe(2);
    // The next edit does look.
    expect(refusal(() => handle.registerProvider("q", stub())).code).toBe("registry_validation_failed");
    expect(handle.version).toBe(2);
  });

  it("names contents by short ids that follow the content", async () => {
    const handle = handleOf({
      ...BASIC,
      tools: [toolOf("t")],
      agents: { a: BASIC.agents.a, far: { remote: { a2a: "https://x.example" } } },
    });
    const before = handle.snapshot();
    handle.update((draft) => {
      draft.agents[A] = { model: "m", instructions: "other" };
    });
    const after = handle.snapshot();
    expect(await before.agentPromptId("a")).toMatch(/^[0-9a-f]{12}$/);
    // printf 'a\x1fsystem\x1fs' | sha256sum
    expect(await before.agentPromptId("a")).toBe("c21eedaf625a");
    expect(await after.agentPromptId("a")).not.toBe(await before.agentPromptId("a"));
    expect(await after.toolDescId("t")).toBe(await before.toolDescId("t"));
    expect([await after.agentPromptId("none"), await after.agentPromptId("far"), await after.toolDescId("none")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, it } from "vitest";
import {
  activeAgent,
  createRuntime,
  definePlugin,
  previewProviderRemoval,
  type RegistryRebuild,
  rebuildAgentModelProvider,
} from "./index.ts";
import { scripted, text } from "./testing.ts";

const openai = createOpenAI({ apiKey: "sk-test" });

const start = (agents: Parameters<typeof createRuntime>[0]["agents"] = { a: { model: "m", instructions: "s" } }) =>
  createRuntime({
    providers: { p: scripted([text("one"), text("two"), text("three")]) },
    models: { m: { provider: "p", model: "upstream" } },
    agents,
  });

describe("the registry of the facade", () => {
  it("previews a removal from the handle and from a set, alike", () => {
    const { registry } = start();
    const preview = {
      providerId: "p",
      modelIds: ["m"],
      agentIds: ["a"],
      blockIfReferencedAllowed: false,
      cascadeUnusedModelBindingsAllowed: false,
    };
    expect(registry.previewRemoveProvider("p")).toEqual(preview);
    expect(previewProviderRemoval(registry.snapshot().registries, "p")).toEqual(preview);
    expect(() => previewProviderRemoval(registry.snapshot().registries, "q")).toThrow("provider not found: q");
    expect(() => registry.removeProvider("p", "cascade-unused-model-bindings")).toThrow(/agents \["a"\]/);
    expect(registry.version).toBe(1);
  });

  it("rebuilds providers, models and agents, of the AI SDK too, and keeps the rest", () => {
    const plugin = definePlugin({ id: "kept", register() {} });
    const runtime = createRuntime({ agents: { a: { model: openai("gpt-5-mini") } }, plugins: [plugin] });
    const { registry } = runtime;
    const update: RegistryRebuild = {
      providers: { o: openai },
      models: [{ id: "m", provider: "o", model: "gpt-5-mini" }],
      agents: [{ id: "b", model: "m", plugins: ["kept"] }],
    };
    expect(registry.rebuildAgentModelProvider(update)).toBe(2);
    const { registries } = registry.snapshot();
    expect([...registries.agents.keys()]).toEqual(["b"]);
    expect(registries.plugins.get("kept")).toBe(plugin);
    expect(() => registry.rebuildAgentModelProvider({ ...update, models: [] })).toThrow(/missing model 'm'/);
    expect(registry.version).toBe(2);
  });

  it("makes a set from another and publishes it", async () => {
    const runtime = start();
    const { registry } = runtime;
    const provider = scripted([text("rebuilt")]);
    const set = rebuildAgentModelProvider(registry.snapshot().registries, {
      providers: { q: provider },
      models: { n: { provider: "q", model: "u" } },
      agents: { b: { model: "n" } },
    });
    expect(registry.version).toBe(1);
    expect(registry.replace(set)).toBe(2);
    expect((await runtime.run({ agent: "b", input: "hi" })).text).toBe("rebuilt");
  });

  it("takes what a provider's model list says, and keeps it for the same AI SDK provider", () => {
    const { registry } = createRuntime({
      providers: { o: openai },
      models: { m: { provider: "o", model: "GPT-x" } },
      agents: { a: { model: "m" } },
    });
    expect(registry.setCapabilities("o", new Map([["gpt-X", { contextWindow: 8000 }]]))).toBe(2);
    const known = () => registry.snapshot().registries.providers.get("o")?.discovered.get("gpt-x");
    expect(known()).toMatchObject({ contextWindow: 8000 });
    registry.rebuildAgentModelProvider({ providers: { o: openai }, models: {}, agents: {} });
    expect(known()).toMatchObject({ contextWindow: 8000 });
    expect(() => registry.setCapabilities("none", new Map())).toThrow("provider not found: none");
  });

  it("lets a plugin see and move the agent of the thread", async () => {
    const seen: unknown[] = [];
    const watch = definePlugin({
      id: "watch",
      register: (r) => r.hook("runStart", ({ state }) => void seen.push(state.get(activeAgent))),
    });
    const runtime = createRuntime({
      providers: { p: scripted([text("one")]) },
      models: { m: { provider: "p", model: "upstream" } },
      agents: { a: { model: "m", plugins: ["watch"] } },
      plugins: [watch],
    });
    await runtime.run({ agent: "a", thread: "t", input: "hi" });
    expect(seen).toEqual([undefined]);
    expect(activeAgent.scope).toBe("thread");
  });
});

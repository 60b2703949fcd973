import { InferenceError, type InferenceRequest, messageId, type Provider, threadId } from "@awaken/contract";
import type { PoolSpecInput } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import { PoolCache } from "../inference/pool/pool-cache.ts";
import { createRegistrySet, type RegistryInit } from "../registry/create-registry-set.ts";
import { handleOf, refusal, stub } from "../registry/registry.test-support.ts";
import { Table } from "../registry/table.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { failure, text } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { resolveModel } from "./serve-model.ts";

const SILENT = { warn() {}, error() {} };
const poolsOf = () => new PoolCache({ clock: fakeClock(), log: SILENT });
const serve = (init: RegistryInit, id: string, pools = poolsOf()) => resolveModel(createRegistrySet(init), id, pools);

const PICTURE = { type: "image", source: { type: "url", url: "https://x.example/a.png" } } as const;
const request = (content: readonly (typeof PICTURE)[] = []): InferenceRequest => ({
  model: "m",
  system: "",
  messages: [{ id: messageId("1"), role: "user", content: [{ type: "text", text: "hi" }, ...content] }],
  tools: [],
  promptCache: false,
  routing: { threadId: threadId("t") },
});

async function ask(provider: Provider, asked = request()): Promise<string> {
  let said = "";
  for await (const part of await provider.stream(asked, { signal: new AbortController().signal })) {
    if (part.type === "text-delta") said += part.delta;
  }
  return said;
}

const answering = (name: string, ...steps: readonly ScriptStep[]) => scripted(steps, { name });

describe("a model", () => {
  it("is asked by its upstream name, at its provider", () => {
    const provider = stub();
    const served = serve({ providers: { p: provider }, models: { m: { provider: "p", model: "up" } } }, "m");
    expect(served).toMatchObject({ providerId: "p", upstream: "up" });
    expect(served.provider).toBe(provider);
  });

  it("does not get what it is known not to read; a guess refuses nothing", async () => {
    const modalities = { input: ["text" as const] };
    const explicit = serve({ providers: { p: stub() }, models: { m: { provider: "p", model: "up", modalities } } }, "m");
    await expect(ask(explicit.provider, request([PICTURE]))).rejects.toMatchObject({ failure: { type: "invalid-request" } });
    const discovered = new Map([["UP", { modalities: { ...modalities, output: [] } }]]);
    const told = serve({ providers: { p: { provider: stub(), discovered } }, models: { m: { provider: "p", model: "models/up" } } }, "m");
    await expect(ask(told.provider, request([PICTURE]))).rejects.toBeInstanceOf(InferenceError);
    const guessed = serve({ providers: { p: answering("p", text("ok")) }, models: { m: { provider: "p", model: "o3-mini" } } }, "m");
    expect(await ask(guessed.provider, request([PICTURE]))).toBe("ok");
  });

  it("wins over what its provider said", () => {
    const discovered = new Map([["up", { contextWindow: 10, maxOutputTokens: 5 }]]);
    const models = { m: { provider: "p", model: "up", contextWindow: 100 } };
    const { trusted } = serve({ providers: { p: { provider: stub(), discovered } }, models }, "m").capabilities;
    expect(trusted).toMatchObject({ contextWindow: 100, maxOutputTokens: 5 });
  });
});

describe("a pool", () => {
  const model = (name: string, more = {}) => ({ provider: name, model: `${name}-up`, ...more });
  const two = (one: Provider, other: Provider, spec: Omit<PoolSpecInput, "members"> = { routing: { home: "first-healthy" } }) => ({
    providers: { one, other },
    models: { a: model("one"), b: model("other") },
    pools: { pool: { ...spec, members: [{ model: "a" }, { model: "b" }] } },
  });

  it("needs every member and its provider", () => {
    const pools = { pool: { members: [{ model: "a" }, { model: "gone" }] } };
    const models = { a: model("one") };
    expect(refusal(() => serve({ providers: { one: stub() }, models, pools }, "pool")).message).toBe("model not found: gone");
    expect(refusal(() => serve({ models, pools: { pool: { members: [{ model: "a" }] } } }, "pool")).message).toBe(
      "provider not found: one",
    );
  });

  it("registry-and-runtime 34: a bound that one member does not declare is unknown", () => {
    const init = (other: object) => ({
      ...two(stub(), stub()),
      models: { a: model("one", { contextWindow: 10, maxOutputTokens: 5 }), b: model("other", other) },
    });
    const served = serve(init({ maxOutputTokens: 4 }), "pool");
    expect(served).toMatchObject({ providerId: "pool", upstream: "pool", capabilities: { known: { maxOutputTokens: 4 } } });
    expect(served.capabilities.known).not.toHaveProperty("contextWindow");
    expect(serve(init({ contextWindow: 20 }), "pool").capabilities.known).toEqual({ contextWindow: 10 });
    expect(served.provider.canOverrideModel).toBe(false);
  });

  it("registry-and-runtime 35: a rate-limited home member is left within the call, and the next resolution of the same set stays there", async () => {
    const one = answering("one", failure("rate-limited"));
    const other = answering("other", text("other"), text("again"));
    const pools = poolsOf();
    const init = two(one, other);
    expect(await ask(serve(init, "pool", pools).provider)).toBe("other");
    expect(await ask(serve(init, "pool", pools).provider)).toBe("again");
    expect(other.requests.map((asked) => asked.model)).toEqual(["other-up", "other-up"]);
  });

  it("registry-and-runtime 36: a context overflow moves nothing and comes back unchanged", async () => {
    const one = answering("one", failure("context-overflow", "too long"));
    const other = answering("other");
    await expect(ask(serve(two(one, other), "pool").provider)).rejects.toMatchObject({
      failure: { type: "context-overflow", message: "too long" },
    });
    expect(other.requests).toHaveLength(0);
  });

  it("registry-and-runtime 13: still resolves after another provider was registered, as the same live pool", () => {
    const handle = handleOf(two(stub(), stub()));
    const pools = poolsOf();
    const before = resolveModel(handle.snapshot().registries, "pool", pools);
    handle.registerProvider("third", stub());
    expect(resolveModel(handle.snapshot().registries, "pool", pools).provider).toBe(before.provider);
  });

  it("does not go on with a provider that was replaced, even by one of the same name", async () => {
    const handle = handleOf(two(answering("same"), stub("same")));
    const pools = poolsOf();
    resolveModel(handle.snapshot().registries, "pool", pools);
    handle.replaceProvider("one", answering("same", text("the new one")));
    expect(await ask(resolveModel(handle.snapshot().registries, "pool", pools).provider)).toBe("the new one");
  });

  it("guards each member by what that member reads, also when the model is edited", async () => {
    const handle = handleOf(two(answering("one", text("seen")), stub()));
    const pools = poolsOf();
    const serveNow = () => resolveModel(handle.snapshot().registries, "pool", pools).provider;
    expect(await ask(serveNow(), request([PICTURE]))).toBe("seen");
    const modalities = { input: ["text" as const] };
    handle.update(({ models }) => void Object.assign(models, { a: model("one", { modalities }) }));
    await expect(ask(serveNow(), request([PICTURE]))).rejects.toMatchObject({ failure: { type: "invalid-request" } });
  });
});

it("an id that is both a model's and a pool's is refused, however the set came about", () => {
  const set = createRegistrySet({ providers: { p: stub() }, models: { m: { provider: "p", model: "u" } } });
  const { pools } = createRegistrySet({ pools: { m: { members: [{ model: "x" }] } } });
  const error = refusal(() => resolveModel({ ...set, pools: Table.of(pools) }, "m", poolsOf()));
  expect(error).toMatchObject({ code: "resolve_failed", message: "model id resolves to both a model and a model pool: m" });
});

import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  AwakenError,
  ask,
  createRuntime,
  defineAction,
  defineEffect,
  definePlugin,
  defineProfile,
  defineState,
  defineTool,
  memoryStore,
  previewProviderRemoval,
  rebuildAgentModelProvider,
} from "./index.ts";
import { scripted, text, toolCall } from "./testing.ts";

class Instance {
  readonly agent = 5;
  readonly secret = "x";
}

const throwing = (name: string): object =>
  Object.defineProperty({}, name, {
    enumerable: true,
    get() {
      throw new TypeError(`the getter of ${name} throws`);
    },
  });

const rude = (): object =>
  new Proxy(
    {},
    {
      get() {
        throw new TypeError("the proxy throws");
      },
      ownKeys() {
        throw new TypeError("the proxy throws");
      },
      getPrototypeOf() {
        throw new TypeError("the proxy throws");
      },
    },
  );

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const cyclic = (): object => {
  const self: Record<string, unknown> = {};
  self["self"] = self;
  return self;
};

/** By name, made afresh for each use. */
const HOSTILE: readonly (readonly [string, () => unknown])[] = [
  ["null", () => null],
  ["undefined", () => undefined],
  ["a number", () => 5],
  ["not a number", () => Number.NaN],
  ["a bigint", () => 10n],
  ["a symbol", () => Symbol("s")],
  ["true", () => true],
  ["a function", () => () => 5],
  ["a blank string", () => " "],
  ["a huge string", () => "x".repeat(1_000_000)],
  ["a list", () => [null, undefined, 5]],
  ["an empty object", () => ({})],
  ["an unknown option", () => ({ nonsense: 1 })],
  ["__proto__ as a member", () => JSON.parse('{"__proto__": {"agent": "x"}, "id": "__proto__"}') as unknown],
  ["a class instance", () => new Instance()],
  ["a date", () => new Date(0)],
  ["a map", () => new Map([["a", 1]])],
  ["a frozen object", () => Object.freeze({ input: 5, action: 5, id: 5 })],
  ["a cycle", cyclic],
  ...["id", "input", "action", "schema", "agents", "providers", "timeoutMs", "content"].map(
    (name) => [`a getter '${name}' that throws`, () => throwing(name)] as const,
  ),
  ["a proxy that throws", rude],
  ["a revoked proxy", revoked],
  ["an object without a prototype", () => Object.assign(Object.create(null), { agent: {}, input: {}, id: {} }) as unknown],
];

/** Answers that say no without an error, as they are documented: nothing has that name, or nothing was given. */
const REFUSALS: readonly unknown[] = [false, "not-found"];

/** The code that it fails with, or what it gave. Whatever else is thrown fails the test. */
async function answerOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (thrown) {
    if (!AwakenError.is(thrown)) throw thrown;
    expect(thrown.message).not.toBe("");
    expect(thrown.message).not.toContain("\n");
    expect(thrown.message.length).toBeLessThan(10_100);
    // It travels to clients and logs.
    expect(() => JSON.stringify(thrown)).not.toThrow();
    return thrown;
  }
}

// What is under test is what callers without our types may do.
// biome-ignore lint/suspicious/noExplicitAny: hostile callers have no types
type Any = any;

const guarded = defineTool({ id: "guarded", description: "", input: z.object({}), approve: () => ask("sure?"), execute: () => "done" });

async function open() {
  const store = memoryStore();
  const runtime = createRuntime({
    store,
    providers: { main: scripted([toolCall("guarded", {}), text("ok")]) },
    models: { fast: { provider: "main", model: "m" } },
    agents: { assistant: { model: "fast" } },
    tools: [guarded],
    log: { warn() {}, error() {} },
  });
  const waiting = await runtime.run({ thread: "t", input: "go" });
  const ticket = waiting.status === "waiting" ? (waiting.tickets[0]?.id ?? "") : "";
  return { runtime, store, ticket, runId: waiting.runId };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Every verb, with the hostile value in each place that takes one. */
const VERBS: readonly (readonly [string, (opened: Opened, value: Any) => unknown])[] = [
  ["run(value)", ({ runtime }, value) => runtime.run(value)],
  ["run({ agent })", ({ runtime }, value) => runtime.run({ thread: "new", input: "x", agent: value ?? null })],
  ["run({ thread })", ({ runtime }, value) => runtime.run({ agent: "assistant", input: "x", thread: value ?? null, resume: "none" })],
  ["run({ input })", ({ runtime }, value) => runtime.run({ thread: "new", input: typeof value === "string" ? [value as Any] : value })],
  ["run({ input: [value] })", ({ runtime }, value) => runtime.run({ thread: "new", input: [value] })],
  ["run({ content: [value] })", ({ runtime }, value) => runtime.run({ thread: "new", input: [{ role: "user", content: [value] }] })],
  [
    "run({ part })",
    ({ runtime }, value) => runtime.run({ thread: "new", input: [{ role: "user", content: [{ type: "image", source: value }] }] }),
  ],
  ["run({ output })", ({ runtime }, value) => runtime.run({ thread: "new", input: "x", output: value ?? null })],
  ["run({ overrides })", ({ runtime }, value) => runtime.run({ thread: "new", input: "x", overrides: value ?? null, runId: "" })],
  ["run({ frontendTools })", ({ runtime }, value) => runtime.run({ thread: "new", input: "x", frontendTools: [value] })],
  ["run({ signal })", ({ runtime }, value) => runtime.run({ thread: "new", input: "x", signal: value ?? null })],
  ["run({ decisions })", ({ runtime, runId }, value) => runtime.run({ thread: "t", resume: runId, decisions: [value] })],
  [
    "run({ trace })",
    ({ runtime }, value) =>
      runtime.run({ thread: "new", input: "x", trace: { parentRunId: typeof value === "string" ? 5 : (value ?? null) } }),
  ],
  ["stream(value)", ({ runtime }, value) => runtime.stream(value).result],
  ["decide(value)", ({ runtime }, value) => runtime.decide(value, { action: "approve" })],
  ["decide(ticket, value)", ({ runtime, ticket }, value) => runtime.decide(ticket, value)],
  [
    "decide({ input })",
    ({ runtime, ticket }, value) => runtime.decide(ticket, { action: "answer", result: { in: value } as Any, by: 5 as Any }),
  ],
  ["decideAll(value)", ({ runtime }, value) => runtime.decideAll(value)],
  ["decideAll([value])", ({ runtime }, value) => runtime.decideAll([value])],
  ["wait(value)", ({ runtime }, value) => runtime.wait(value)],
  ["wait(id, value)", ({ runtime }, value) => runtime.wait("none", value ?? null)],
  ["resume(value)", ({ runtime }, value) => runtime.resume(value)],
  ["cancel(value)", ({ runtime }, value) => runtime.cancel(value)],
  ["cancelAndWait(value)", ({ runtime }, value) => runtime.cancelAndWait(value)],
  ["cancelAndWait(id, value)", ({ runtime }, value) => runtime.cancelAndWait("none", value ?? null)],
  ["send(value)", async ({ runtime }, value) => (await runtime.send(value, "x")).status !== "refused"],
  ["send(id, value)", async ({ runtime }, value) => (await runtime.send("none", value)).status !== "refused"],
  ["registry.replace", ({ runtime }, value) => runtime.registry.replace(value)],
  ["registry.update", ({ runtime }, value) => runtime.registry.update(typeof value === "function" ? null : value)],
  ["registry.updateAsync", ({ runtime }, value) => runtime.registry.updateAsync(typeof value === "function" ? null : value)],
  [
    "an agent of an update",
    ({ runtime }, value) =>
      runtime.registry.update(({ agents }) => {
        agents["x"] = value;
      }),
  ],
  [
    "a tool of an update",
    ({ runtime }, value) =>
      runtime.registry.update(({ tools }) => {
        tools["x"] = value;
      }),
  ],
  ["registerProvider(value)", ({ runtime }, value) => runtime.registry.registerProvider(value, null as Any)],
  [
    "registerProvider(id, value)",
    ({ runtime }, value) => runtime.registry.registerProvider("x", typeof value === "function" ? null : value),
  ],
  ["replaceProvider(value)", ({ runtime }, value) => runtime.registry.replaceProvider(value, scripted([]))],
  [
    "replaceProvider(id, value)",
    ({ runtime }, value) => runtime.registry.replaceProvider("main", typeof value === "function" ? null : value),
  ],
  ["setCapabilities(value)", ({ runtime }, value) => runtime.registry.setCapabilities(value, new Map())],
  ["setCapabilities(id, value)", ({ runtime }, value) => runtime.registry.setCapabilities("main", value)],
  ["previewRemoveProvider", ({ runtime }, value) => runtime.registry.previewRemoveProvider(value)],
  ["removeProvider(value)", ({ runtime }, value) => runtime.registry.removeProvider(value, "block-if-referenced")],
  ["removeProvider(id, value)", ({ runtime }, value) => runtime.registry.removeProvider("main", value)],
  ["rebuildAgentModelProvider(value)", ({ runtime }, value) => runtime.registry.rebuildAgentModelProvider(value)],
  [
    "rebuildAgentModelProvider({ agents })",
    ({ runtime }, value) => runtime.registry.rebuildAgentModelProvider({ providers: {}, models: {}, agents: { x: value } }),
  ],
  ["previewProviderRemoval(value)", (_, value) => previewProviderRemoval(value, "main")],
  ["rebuild of a set", (_, value) => rebuildAgentModelProvider(value, { providers: {}, models: {}, agents: {} })],
];

const DEFINITIONS: readonly (readonly [string, (value: Any) => unknown])[] = [
  ["createRuntime(value)", (value) => createRuntime(value)],
  ["createRuntime({ agents })", (value) => createRuntime({ agents: { a: value } })],
  ["createRuntime({ models })", (value) => createRuntime({ agents: {}, models: { m: value } })],
  ["createRuntime({ providers })", (value) => createRuntime({ agents: {}, providers: { p: typeof value === "function" ? null : value } })],
  ["createRuntime({ tools })", (value) => createRuntime({ agents: {}, tools: [value] })],
  ["createRuntime({ plugins })", (value) => createRuntime({ agents: {}, plugins: [value] })],
  ["createRuntime({ pools })", (value) => createRuntime({ agents: {}, pools: { p: value } })],
  ["createRuntime({ state })", (value) => createRuntime({ agents: {}, state: [value] })],
  ["createRuntime({ store })", (value) => createRuntime({ agents: {}, store: value ?? 5 })],
  ["defineTool(value)", (value) => defineTool(value)],
  ["defineTool({ id })", (value) => defineTool({ id: value, description: "", input: z.object({}), execute: () => 1 })],
  ["defineTool({ input })", (value) => defineTool({ id: "x", description: "", input: value, execute: () => 1 })],
  ["defineTool({ state })", (value) => defineTool({ id: "x", description: "", input: z.object({}), execute: () => 1, state: [value] })],
  ["definePlugin(value)", (value) => definePlugin(value)],
  ["definePlugin({ register })", (value) => definePlugin({ id: "x", register: typeof value === "function" ? null : value })],
  [
    "defineState(value)",
    (value) => defineState(typeof value === "string" ? " " : value, { schema: z.number(), initial: () => 0, apply: (n) => n }),
  ],
  ["defineState(name, value)", (value) => defineState("x", value)],
  ["defineProfile(name, value)", (value) => defineProfile("x", value)],
  ["defineProfile(value)", (value) => defineProfile(typeof value === "string" ? null : value, { schema: z.number(), initial: () => 0 })],
  ["defineAction(name, value)", (value) => defineAction("x", value)],
  ["defineAction(value)", (value) => defineAction(typeof value === "string" ? null : value, { phase: "stepEnd", payload: z.number() })],
  ["defineEffect(name, value)", (value) => defineEffect("x", value)],
  ["defineEffect(value)", (value) => defineEffect(typeof value === "string" ? null : value, { payload: z.number() })],
];

describe("hostile input", () => {
  it.each(DEFINITIONS)("%s is refused with a code, in one line", async (_name, define) => {
    for (const [what, make] of HOSTILE) {
      const answer = await answerOf(() => define(make()));
      // A runtime of nothing is one.
      if (!(answer instanceof Error)) expect(answer, what).toMatchObject({ registry: { version: 1 } });
    }
  });

  it.each(VERBS)("%s is refused with a code, and changes nothing", async (_name, verb) => {
    const opened = await open();
    const { runtime, ticket, runId } = opened;
    for (const [what, make] of HOSTILE) {
      const answer = await answerOf(() => verb(opened, make()));
      if (!(answer instanceof Error)) expect(REFUSALS, what).toContain(answer);
    }
    expect(runtime.registry.version).toBe(1);
    expect((await opened.store.threads.list({ limit: 10 })).items.map(({ id }) => id)).toEqual(["t"]);
    // The call still waits, and the decision that is right is taken.
    const decided = await runtime.decide(ticket, { action: "approve" });
    expect(await decided.result).toMatchObject({ runId, status: "done", text: "ok" });
  });
});

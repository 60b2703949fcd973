import { type JsonValue, messageText, runId, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import type { Registrar } from "../plugin/registrar.ts";
import { defineState, type OnInvalid } from "../state/key.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";

const score = defineState("app.score", {
  scope: "thread",
  schema: z.object({ points: z.number().max(10) }),
  initial: () => ({ points: 0 }),
  apply: (value, add: number) => ({ points: value.points + add }),
  merge: "commutative",
});

function recorded() {
  const lines: string[] = [];
  return { lines, warn: (message: string) => lines.push(message), error: (message: string) => lines.push(message) };
}

function open(steps: readonly ScriptStep[], register: (registrar: Registrar) => void, init: Partial<RuntimeInit> = {}) {
  const model = scripted(steps);
  const runtime = createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast", plugins: ["keys"] } },
    plugins: [definePlugin({ id: "keys", register })],
    log: recorded(),
    ...init,
  });
  return { runtime, model };
}

const add = defineTool({
  id: "add",
  description: "",
  input: z.object({ n: z.number() }),
  execute: ({ n }) => reply({ added: n }, { command: command().update(score, n) }),
});

const storedState = async (store: Store, thread: string): Promise<JsonValue | undefined> =>
  (await store.threads.loadHead(threadId(thread)))?.state?.extensions["app.score"];

describe("core-execution 84: a value outside its key's schema", () => {
  test("core-execution 84: a tool's update is the failure of its call, siblings' updates stand, the run and the thread go on", async () => {
    const store = memoryStore();
    const calls = [4, 40, 5].map((n) => ({ name: "add", input: { n } }));
    const { runtime, model } = open([toolCalls(calls), text("ok"), text("again")], (r) => r.state(score), { tools: [add], store });
    expect(await runtime.run({ thread: "t", input: "go" })).toMatchObject({ text: "ok", status: "done" });
    const results = model.requests[1]?.messages.filter((message) => message.role === "tool");
    expect(results?.map((message) => message.status)).toEqual(["success", "error", "success"]);
    expect(results?.[1] && messageText(results[1])).toMatch(/state key 'app\.score'.*does not fit its schema.*points/);
    expect(await storedState(store, "t")).toEqual({ points: 9 });
    expect(await runtime.run({ thread: "t", input: "more" })).toMatchObject({ text: "again" });
  });

  test.each(["runStart", "stepStart", "beforeInference", "afterInference", "stepEnd"] as const)(
    "core-execution 84: a hook's update in %s ends its run with an error that names the key, nothing is stored, the thread goes on",
    async (phase) => {
      const store = memoryStore();
      let isBad = true;
      const hooked = (r: Registrar) => {
        r.state(score);
        r.hook(phase, () => (isBad ? command().update(score, 11) : undefined));
      };
      const isAsked = phase === "afterInference" || phase === "stepEnd";
      const { runtime } = open([...(isAsked ? [text("lost")] : []), text("fine")], hooked, { store });
      const failed = await runtime.run({ thread: "t", input: "go" });
      expect(failed.termination).toMatchObject({ type: "error", code: "key_encode", message: expect.stringContaining("'app.score'") });
      expect(await storedState(store, "t")).toBeUndefined();
      isBad = false;
      expect(await runtime.run({ thread: "t", input: "again" })).toMatchObject({ text: "fine", status: "done" });
    },
  );

  it("a hook of the end that gives such a value does not keep the run from ending", async () => {
    const log = recorded();
    const hooked = (r: Registrar) => {
      r.state(score);
      r.hook("runEnd", () => command().update(score, 11));
    };
    const { runtime } = open([text("fine")], hooked, { log });
    expect(await runtime.run({ thread: "t", input: "go" })).toMatchObject({ text: "fine", termination: { type: "natural-end" } });
    expect(log.lines.join()).toContain("'app.score'");
  });

  it("two updates of one command count as what they come to", async () => {
    const twice = (r: Registrar) => {
      r.state(score);
      r.hook("runStart", () => command().update(score, 11).update(score, -5));
    };
    const store = memoryStore();
    const { runtime } = open([text("fine")], twice, { store });
    await runtime.run({ thread: "t", input: "go" });
    expect(await storedState(store, "t")).toEqual({ points: 6 });
  });

  test.each<[string, z.ZodType, JsonValue, RegExp]>([
    ["a date", z.coerce.date(), "2026-01-01", /what is no JSON/],
    ["a map, of an empty object", z.unknown().transform(() => new Map()), {}, /what is no JSON/],
    ["nothing", z.unknown().transform(() => undefined), 1, /what is no JSON/],
    [
      "one more each time, up to a limit",
      z
        .string()
        .transform((value) => `${value}!`)
        .pipe(z.string().max(8)),
      "hello",
      /changes what it gave itself/,
    ],
  ])(
    "core-execution 84: a schema that makes of a value %s, which could not be read again, fails the call and not the thread",
    async (_, schema, value, why) => {
      const store = memoryStore();
      const odd = defineState<object | string | number, JsonValue>("app.score", {
        scope: "thread",
        schema: schema as z.ZodType<object>,
        initial: () => ({}),
        apply: (_value, next) => next as object,
      });
      const set = defineTool({
        id: "set",
        description: "",
        input: z.object({}),
        execute: () => reply({}, { command: command().update(odd, value) }),
      });
      const steps = [toolCall("set", {}), text("one"), text("two"), text("three"), text("four")];
      const { runtime, model } = open(steps, (r) => r.state(odd), { tools: [set], store });
      for (const said of ["one", "two", "three", "four"])
        expect(await runtime.run({ thread: "t", input: "go" })).toMatchObject({ text: said });
      const result = model.requests[1]?.messages.find((message) => message.role === "tool");
      expect(result && messageText(result)).toMatch(why);
      expect(await storedState(store, "t")).toBeUndefined();
    },
  );

  it("a way to end the run that no record could hold is refused, and the thread goes on", async () => {
    const { runLifecycle } = await import("../state/run-lifecycle.ts");
    let isBad = true;
    const broken = { type: "stopped", code: 7 } as unknown as { type: "stopped"; code: string };
    const hooked = (r: Registrar) =>
      r.hook("stepStart", () => (isBad ? command().update(runLifecycle, { type: "done", termination: broken, at: 1 }) : undefined));
    const { runtime } = open([text("fine")], hooked, { store: memoryStore() });
    expect((await runtime.run({ thread: "t", input: "go" })).termination).toMatchObject({ type: "error", code: "reducer_failed" });
    isBad = false;
    expect(await runtime.run({ thread: "t", input: "again" })).toMatchObject({ text: "fine" });
  });
});

/** A thread with a run that waits and a value that an earlier program stored. */
async function leaveOld(store: Store, isWaiting: boolean) {
  const old = defineState("app.score", {
    scope: "thread",
    schema: z.string(),
    initial: () => "",
    apply: (_value, next: string) => next,
  });
  const hooked = (r: Registrar) => {
    r.state(old);
    r.hook("runStart", () => command().update(old, "seven"));
  };
  const steps = isWaiting ? [toolCall("pay", {}, { id: "c1" })] : [text("first")];
  const { runtime } = open(steps, hooked, { store, tools: [pay] });
  return runtime.run({ thread: "t", input: "go" });
}

const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

const withChoice = (onInvalid?: OnInvalid<{ points: number }>) =>
  defineState("app.score", {
    scope: "thread",
    schema: z.object({ points: z.number().max(10) }),
    initial: () => ({ points: 0 }),
    apply: (value, more: number) => ({ points: value.points + more }),
    ...(onInvalid === undefined ? {} : { onInvalid }),
  });

const CHOICES: readonly (readonly [string, OnInvalid<{ points: number }> | undefined])[] = [
  ["nothing", undefined],
  ["fail", "fail"],
  ["drop", "drop"],
  ["a function", (stored) => ({ points: stored === "seven" ? 7 : 0 })],
  [
    "a function that throws",
    () => {
      throw new Error("no idea");
    },
  ],
];

describe("core-execution 85: a stored value that today's schema refuses", () => {
  test("core-execution 85: by default it fails whoever opens the thread, naming the key and the way out, and stays as it is", async () => {
    const store = memoryStore();
    await leaveOld(store, false);
    for (const choice of [undefined, "fail"] as const) {
      const { runtime } = open([], (r) => r.state(withChoice(choice)), { store });
      await expect(runtime.run({ thread: "t", input: "more" })).rejects.toMatchObject({
        code: "key_decode",
        details: { key: "app.score" },
        message: expect.stringMatching(/'app\.score'.*onInvalid/),
      });
    }
    expect(await storedState(store, "t")).toBe("seven");
  });

  test("core-execution 85: dropped with a warning that names the key, the key reads as never updated", async () => {
    const store = memoryStore();
    await leaveOld(store, false);
    const log = recorded();
    const key = withChoice("drop");
    const seen: unknown[] = [];
    const hooked = (r: Registrar) => {
      r.state(key);
      r.hook("runStart", ({ state }) => {
        seen.push(state.get(key));
        return command().update(key, 2);
      });
    };
    const { runtime } = open([text("ok")], hooked, { store, log });
    expect(await runtime.run({ thread: "t", input: "more" })).toMatchObject({ text: "ok" });
    expect(seen).toEqual([undefined]);
    expect(log.lines).toEqual([expect.stringMatching(/'app\.score'.*dropped/)]);
    expect(await storedState(store, "t")).toEqual({ points: 2 });
  });

  test("core-execution 85: a function makes today's value of it, is told what is wrong, and runs once", async () => {
    const store = memoryStore();
    await leaveOld(store, false);
    const told: unknown[] = [];
    const key = withChoice((stored, problem) => {
      told.push([stored, problem]);
      return { points: 7 };
    });
    const hooked = (r: Registrar) => {
      r.state(key);
      r.hook("runStart", () => command().update(key, 1));
    };
    const { runtime } = open([text("ok"), text("ok")], hooked, { store });
    await runtime.run({ thread: "t", input: "more" });
    await runtime.run({ thread: "t", input: "more" });
    expect(told).toEqual([["seven", expect.stringContaining("expected object")]]);
    expect(await storedState(store, "t")).toEqual({ points: 9 });
  });

  test("core-execution 85: what the function gives must fit, and one that throws or gives no value is no way around the schema", async () => {
    const store = memoryStore();
    await leaveOld(store, false);
    const attempt = (choice: OnInvalid<{ points: number }>) =>
      open([text("ok")], (r) => r.state(withChoice(choice)), { store }).runtime.run({ thread: "t", input: "more" });
    await expect(attempt(() => ({ points: 11 }))).rejects.toMatchObject({ code: "key_decode", details: { key: "app.score" } });
    const threw = attempt(() => {
      throw new Error("no idea");
    });
    await expect(threw).rejects.toMatchObject({ code: "key_decode", message: expect.stringContaining("no idea") });
    expect(await storedState(store, "t")).toBe("seven");
    expect(await attempt(() => undefined)).toMatchObject({ text: "ok" });
  });

  test.each(CHOICES)("core-execution 85: with %s, `cancel` ends the run that waits, and its call is closed", async (_, choice) => {
    const store = memoryStore();
    const { runId: waiting } = await leaveOld(store, true);
    const { runtime } = open([], (r) => r.state(withChoice(choice)), { store, tools: [pay] });
    expect(await runtime.cancelAndWait("t")).toBe(true);
    const run = await store.runs.load(runId(waiting));
    expect(run).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    const view = (await store.threads.loadHead(threadId("t")))?.messages.map(({ message }) => messageText(message));
    expect(view?.at(-1)).toContain("the run ended before there was a decision");
    if (choice === undefined || choice === "fail") expect(await storedState(store, "t")).toBe("seven");
  });
});

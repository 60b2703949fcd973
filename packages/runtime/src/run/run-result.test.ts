import { CONCLUSIONS, ERROR_TABLE, INFERENCE_FAILURES } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, expectTypeOf, it, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { pendingWork } from "../state/pending-work.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { instantClock } from "../testing/fake-clock.ts";
import { failure, stall, text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask, block } from "../tool/verdict.ts";
import type { RunResult, RunTicket } from "./run-result.ts";

const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => "seen" });
const pay = defineTool({
  id: "pay",
  description: "",
  input: z.object({ n: z.number() }),
  approve: () => ask("pay?"),
  execute: () => "paid",
});

const plugins = [
  definePlugin({
    id: "ends",
    register: (r) =>
      r.hook("stepEnd", () => command().update(runLifecycle, { type: "done", termination: { type: "behavior-requested" }, at: 5 })),
  }),
  definePlugin({
    id: "fails",
    register: (r) =>
      r.hook("stepEnd", () => {
        throw new Error("the hook broke");
      }),
  }),
  definePlugin({
    id: "gives-up",
    register: (r) =>
      r.hook("stepEnd", () =>
        command().update(runLifecycle, { type: "done", termination: { type: "error", message: "no more", code: "quota" }, at: 5 }),
      ),
  }),
  definePlugin({ id: "guard", register: (r) => r.gate(() => block("not today")) }),
  definePlugin({
    id: "background",
    register(r) {
      r.state(pendingWork);
      r.hook("stepEnd", () => command().update(pendingWork, true));
    },
  }),
];

interface Played {
  readonly script: readonly ScriptStep[];
  readonly agent?: { readonly plugins?: readonly string[]; readonly maxSteps?: number };
  readonly isCancelled?: true;
}

const CASES: readonly (readonly [string, Played, Partial<RunResult> & object])[] = [
  ["natural-end", { script: [text("hi")] }, { status: "done", text: "hi", termination: { type: "natural-end" } }],
  [
    "behavior-requested",
    { script: [text("hi")], agent: { plugins: ["ends"] } },
    { status: "done", text: "hi", termination: { type: "behavior-requested" } },
  ],
  [
    "suspended",
    { script: [toolCall("pay", { n: 1 }, { say: "I pay." })] },
    { status: "waiting", waitingReason: "suspended", text: "I pay.", termination: { type: "suspended" } },
  ],
  [
    "a natural end with work in the background",
    { script: [text("later")], agent: { plugins: ["background"] } },
    { status: "waiting", waitingReason: "awaiting-tasks", tickets: [], text: "later", termination: { type: "natural-end" } },
  ],
  [
    "stopped",
    { script: [toolCall("look", {})], agent: { maxSteps: 1 } },
    {
      status: "stopped",
      limit: "max-steps",
      detail: "1 of 1 steps",
      termination: { type: "stopped", code: "max-steps", detail: "1 of 1 steps" },
    },
  ],
  ["cancelled", { script: [stall(text("never"), 0)], isCancelled: true }, { status: "cancelled", termination: { type: "cancelled" } }],
  [
    "blocked",
    { script: [toolCall("look", {})], agent: { plugins: ["guard"] } },
    { status: "blocked", reason: "not today", termination: { type: "blocked", reason: "not today" } },
  ],
  [
    "a vendor that refuses the key",
    { script: [failure("unauthorized", "wrong key")] },
    {
      status: "failed",
      text: "",
      error: { code: "inference_unauthorized", message: "unauthorized: wrong key" },
      termination: { type: "error", code: "inference_unauthorized", message: "unauthorized: wrong key" },
    },
  ],
  [
    "a hook that throws",
    { script: [text("hi")], agent: { plugins: ["fails"] } },
    { status: "failed", error: { code: "hook_failed", message: expect.stringContaining("the hook broke") }, text: "hi" },
  ],
  [
    "a plugin that ends the run with a code of its own",
    { script: [text("hi")], agent: { plugins: ["gives-up"] } },
    { status: "failed", error: { code: "quota", message: "no more" }, text: "hi" },
  ],
];

const open = (store: Store | undefined, { script, agent }: Played, init: Partial<RuntimeInit> = {}) =>
  createRuntime({
    providers: { scripted: scripted(script) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast", ...agent } },
    tools: [look, pay],
    plugins,
    log: { warn() {}, error() {} },
    clock: instantClock(),
    ...(store === undefined ? {} : { store }),
    ...init,
  });

async function play(store: Store | undefined, played: Played): Promise<RunResult> {
  const runtime = open(store, played);
  const run = runtime.stream({ thread: "t", input: "go" });
  for await (const event of run) if (event.type === "step-start" && played.isCancelled) await runtime.cancel("t");
  return run.result;
}

describe.each([
  ["no store", () => undefined],
  ["a memory store", memoryStore],
  ["SQLite", () => sqliteStore(":memory:")],
])("results with %s", (_, openStore) => {
  test.each(CASES)(
    "core-execution 90: %s has its status, and a record says the same to another process",
    async (_name, played, expected) => {
      const store = openStore();
      const result = await play(store, played);
      expect(result).toMatchObject(expected);
      if (store !== undefined) expect(await open(store, { script: [] }).wait(result.runId)).toEqual(result);
    },
  );
});

test("core-execution 90: every status is seen above", () => {
  expect(new Set(CASES.map(([, , { status }]) => status))).toEqual(new Set(CONCLUSIONS));
});

test("core-execution 90: a store that fails is a failure with the store's code, whatever the run did before", async () => {
  const store = memoryStore();
  let writes = 0;
  const commit: typeof store.commit = (...args) => {
    writes += 1;
    return writes === 1 ? store.commit(...args) : Promise.reject(new Error("disk full"));
  };
  const result = await play({ ...store, commit }, { script: [text("hi")] });
  expect(result).toMatchObject({ status: "failed", error: { code: "storage_io", message: "storage failed: disk full" } });
});

it("has an error code for each type of inference failure", () => {
  for (const type of Object.keys(INFERENCE_FAILURES)) expect(ERROR_TABLE).toHaveProperty(`inference_${type.replaceAll("-", "_")}`);
});

describe("types", () => {
  it("output is there, and typed, once the run is done", async () => {
    const output = z.object({ total: z.number() });
    const result = await open(undefined, { script: [text('{"total":2}')] }).run({ input: "sum", output });
    expectTypeOf(result.output).toEqualTypeOf<{ total: number } | undefined>();
    if (result.status !== "done") throw new Error(result.status);
    expectTypeOf(result.output).toEqualTypeOf<{ total: number }>();
    expect(result.output.total).toBe(2);
  });

  it("each status has its own facts, and all have text, steps, usage and termination", async () => {
    const runtime = open(undefined, { script: [text("hi")] });
    const { text: said, steps, usage, termination, ...rest } = await runtime.run({ input: "hi" });
    expect({ said, steps, usage: usage.totalTokens > 0, termination, status: rest.status }).toEqual({
      said: "hi",
      steps: 1,
      usage: true,
      termination: { type: "natural-end" },
      status: "done",
    });
    type Of<S extends RunResult["status"]> = Extract<RunResult, { status: S }>;
    expectTypeOf<Of<"waiting">["tickets"]>().toEqualTypeOf<readonly RunTicket[]>();
    expectTypeOf<Of<"failed">["error"]["message"]>().toEqualTypeOf<string>();
    expectTypeOf<Of<"stopped">["detail"]>().toEqualTypeOf<string>();
    expectTypeOf<Of<"blocked">["reason"]>().toEqualTypeOf<string>();
    expectTypeOf<Extract<keyof Of<"done"> | keyof Of<"failed">, "tickets">>().toBeNever();
  });
});

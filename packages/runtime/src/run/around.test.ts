import { AsyncLocalStorage } from "node:async_hooks";
import { type AgentEvent, runId, type Turn } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { definePlugin, type Plugin } from "../plugin/define-plugin.ts";
import { failure, parts, text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

const place = new AsyncLocalStorage<string>();
const visited: (string | undefined)[] = [];

const look = defineTool({
  id: "look",
  description: "",
  input: z.object({ n: z.number() }),
  async execute({ n }) {
    await Promise.resolve();
    visited.push(place.getStore());
    return n;
  },
});
const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

function open(model: ReturnType<typeof scripted>, plugins: readonly Plugin[], init: Partial<RuntimeInit> = {}) {
  const errors: string[] = [];
  const runtime = createRuntime({
    providers: { house: model },
    models: { fast: { provider: "house", model: "fast-1", inputTokenPricePerMillionUsd: 1 } },
    agents: { first: { model: "fast", plugins: plugins.map(({ id }) => id) } },
    tools: [look, pay],
    plugins,
    log: { warn() {}, error: (message) => errors.push(message) },
    ...init,
  });
  return { runtime, errors };
}

describe("what a plugin puts around the work of a run", () => {
  it("begins inference and tool inside of it, the first plugin outermost, and shows what came of them", async () => {
    visited.length = 0;
    const seen: unknown[] = [];
    const named = (id: string) =>
      definePlugin({
        id,
        register(r) {
          r.around("inference", ({ step, provider, request, models }, begin) => {
            const done = place.run(`${place.getStore() ?? ""}>${id}`, begin);
            void done.then((turn) => seen.push([id, step, provider, request.model, models.map((model) => model.id), turn.text]));
          });
          r.around("tool", ({ call, isReplay }, begin) => {
            const done = place.run(`${place.getStore() ?? ""}>${id}`, begin);
            void done.then((result) => seen.push([id, call.input, isReplay, result.type]));
          });
        },
      });
    const asked: (string | undefined)[] = [];
    const turns = [toolCall("look", { n: 1 }), text("done")].map((turn) => () => {
      asked.push(place.getStore());
      return turn;
    });
    const { runtime } = open(scripted(turns), [named("a"), named("b")]);
    await runtime.run({ agent: "first", input: "go" });
    expect(asked).toEqual([">a>b", ">a>b"]);
    expect(visited).toEqual([">a>b"]);
    expect(place.getStore()).toBeUndefined();
    expect(seen).toEqual(
      [
        [1, "house", "fast-1", ["fast"], ""],
        [{ n: 1 }, false, "success"],
        [2, "house", "fast-1", ["fast"], "done"],
      ].flatMap((each) => [
        ["b", ...each],
        ["a", ...each],
      ]),
    );
  });

  it("cannot fail the work, double it or keep it from happening", async () => {
    visited.length = 0;
    const rude = definePlugin({
      id: "rude",
      register(r) {
        r.around("inference", (_, begin) => {
          void begin();
          void begin();
          throw new Error("after");
        });
        r.around("tool", () => {
          throw new Error("before");
        });
      },
    });
    using model = scripted([toolCall("look", { n: 1 }), text("done")]);
    const { runtime, errors } = open(model, [rude]);
    expect(await runtime.run({ agent: "first", input: "go" })).toMatchObject({ status: "done", text: "done" });
    expect(visited).toHaveLength(1);
    expect(errors).toEqual(["after", "before", "after"].map((why) => `plugin 'rude' failed around a run's work: ${why}`));
  });

  it("is told which model of a pool answered, and what the vendor calls its answer", async () => {
    const turns: Turn[] = [];
    const spy = definePlugin({
      id: "spy",
      register: (r) => r.around("inference", (_, begin) => void begin().then((turn) => turns.push(turn))),
    });
    const named = parts(
      { type: "response", id: "resp-1", model: "big-2026" },
      { type: "text-delta", delta: "hi" },
      { type: "stop", reason: "end-turn" },
    );
    const { runtime } = open(scripted([]), [spy], {
      providers: { down: scripted([failure("unauthorized"), failure("unauthorized")]), up: scripted([named, text("again")]) },
      models: { a: { provider: "down", model: "small" }, b: { provider: "up", model: "big" } },
      pools: { pool: { members: [{ model: "a" }, { model: "b", role: "failover-only" }] } },
      agents: { first: { model: "pool", plugins: ["spy"] } },
    });
    await runtime.run({ agent: "first", thread: "t", input: "go" });
    expect(turns).toMatchObject([{ servedBy: "b", response: { id: "resp-1", model: "big-2026" } }]);
  });

  it("refuses what there is not", () => {
    const wrong = definePlugin({ id: "wrong", register: (r) => Reflect.apply(r.around, r, ["step", () => {}]) });
    expect(() => open(scripted([]), [wrong])).toThrow("there is nothing to surround called 'step'");
  });
});

describe("a bound plugin", () => {
  it("hears the events of the run and fails nothing, and no snapshot is made for it", async () => {
    const heard: AgentEvent["type"][] = [];
    const ear = definePlugin({
      id: "ear",
      register() {},
      onBind(run) {
        expect(run.isContinuation).toBe(false);
        expect(run.identity.agentId).toBe("first");
        run.listen(({ type }) => {
          heard.push(type);
          if (type === "inference-end") throw new Error("deaf");
        });
        return undefined;
      },
    });
    const { runtime, errors } = open(scripted([text("done")]), [ear]);
    await runtime.run({ agent: "first", input: "go" });
    expect(heard).toEqual(["step-start", "text-delta", "inference-end", "step-end", "run-end"]);
    expect(errors).toEqual(["a plugin failed to hear 'inference-end': deaf"]);
  });
});

it("keeps the trace that a run belongs to in its record, for whoever goes on with it", async () => {
  const store = memoryStore();
  const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const told: (string | undefined)[] = [];
  const spy = definePlugin({ id: "spy", register: (r) => r.hook("runStart", ({ identity }) => void told.push(identity.traceParent)) });
  const { runtime } = open(scripted([toolCall("pay", {})]), [spy], { store });
  const first = await runtime.run({ agent: "first", thread: "t", input: "go", trace: { traceParent } });
  const { runtime: other } = open(scripted([text("done")]), [spy], { store });
  const run = await other.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve" });
  expect(await run.result).toMatchObject({ status: "done" });
  expect(told).toEqual([traceParent, traceParent]);
  expect(await store.runs.load(runId(first.runId))).toMatchObject({ traceParent, activation: { trace: { origin: "user" } } });
});

it("puts the innermost span that a plugin named around a call on the record of the runs that the call starts", async () => {
  const store = memoryStore();
  const spanOf = (n: number) => `00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333${n}-01`;
  const named = (id: string, traceParent: string | undefined) =>
    definePlugin({ id, register: (r) => r.around("tool", (_, begin) => void begin({ traceParent })) });
  const plugins = [named("outer", spanOf(1)), named("inner", spanOf(2)), named("silent", undefined)];
  const house = scripted([toolCall("agent_run_other", { prompt: "go" }), text("other"), text("first")]);
  const { runtime } = open(house, plugins, {
    store,
    agents: { first: { model: "fast", plugins: plugins.map(({ id }) => id), delegates: ["other"] }, other: { model: "fast" } },
  });
  const first = await runtime.run({ agent: "first", thread: "t", input: "go", trace: { traceParent: spanOf(0) } });
  const { items } = await store.runs.list({ rootRunId: runId(first.runId) });
  expect(items).toMatchObject([{ agentId: "other", parentRunId: first.runId, traceParent: spanOf(2) }]);
});

import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { Clock } from "../stream/clock.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { fakeClock, soleNode } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptedProvider, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";

/** Each look at it is a millisecond later, so that no two writes of a record are the same by accident. */
function movingClock(): Clock {
  const still = fakeClock();
  let now = 1_000;
  return { now: () => ++now, timer: (ms, ring) => still.timer(ms, ring) };
}

const look = defineTool({ id: "look", description: "", input: z.object({}), idempotent: true, execute: () => "seen" });

/** A plugin whose hook ends the run. */
const stopper = (phase: "afterInference" | "beforeToolExecute" | "afterToolExecute" | "stepEnd") =>
  definePlugin({
    id: "stopper",
    register(r) {
      const end = () => command().update(runLifecycle, { type: "done", termination: { type: "behavior-requested" }, at: 5 });
      r.hook(phase, end);
    },
  });

const open = (provider: ScriptedProvider, init: Partial<RuntimeInit>) =>
  createRuntime({
    node: soleNode(crypto.randomUUID()),
    workers: false,
    providers: { scripted: provider },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    tools: [look],
    log: { warn() {}, error() {} },
    clock: movingClock(),
    store: memoryStore(),
    ...init,
  });

describe("the end of a run is on record once, in its last commit", () => {
  it("when a stop condition ends it", async () => {
    const store = memoryStore();
    const runtime = open(scripted([toolCall("look", {})]), { store, agents: { default: { model: "fast", maxSteps: 1 } } });
    const result = await runtime.run({ thread: "t", input: "go" });
    expect(result).toMatchObject({ status: "stopped", limit: "max-steps", termination: { type: "stopped", code: "max-steps" }, steps: 1 });
    const record = await store.runs.load(result.runId);
    expect(record).toMatchObject({ status: "done", outcome: { termination: { type: "stopped", code: "max-steps" } } });
  });

  it.each(["afterInference", "beforeToolExecute", "afterToolExecute", "stepEnd"] as const)("when a hook of %s ends it", async (phase) => {
    const store = memoryStore();
    const agents = { default: { model: "fast", plugins: ["stopper"] } };
    const runtime = open(scripted([toolCall("look", {}), text("over")]), { store, agents, plugins: [stopper(phase)] });
    const result = await runtime.run({ thread: "t", input: "go" });
    expect(result).toMatchObject({ status: "done", termination: { type: "behavior-requested" } });
    expect(await store.runs.load(result.runId)).toMatchObject({ status: "done", outcome: { termination: { type: "behavior-requested" } } });
  });

  it.each([1, 2, 3, 4])("and when the process died before, at commit %i, the run that goes on ends the same way", async (nth) => {
    const store = memoryStore();
    const points = crashPoints({ at: "commit-end", nth, mode: "throw" });
    const agents = { default: { model: "fast", plugins: ["stopper"] } };
    const init = { agents, plugins: [stopper("afterToolExecute")] };
    const model = scripted([toolCall("look", {})]);
    const dying = open(model, { ...init, store: points.commits(store, "commit", "transaction"), tools: points.tools([look]) });
    const died = await dying.run({ thread: "t", input: "go" });
    const record = await store.runs.load(died.runId);
    if (record?.status !== "done") {
      const next = open(model.requests.length === 0 || nth === 1 ? scripted([toolCall("look", {})]) : scripted([]), { ...init, store });
      expect(await next.resume(died.runId)).toMatchObject({ status: "done", termination: { type: "behavior-requested" } });
    }
    expect(await store.runs.load(died.runId)).toMatchObject({ outcome: { termination: { type: "behavior-requested" } } });
  });
});

describe("a logger that gives something back", () => {
  const failing = definePlugin({
    id: "failing",
    register(r) {
      r.hook("runEnd", () => Promise.reject(new Error("hook")));
    },
  });

  it.each([
    ["a promise that nobody keeps", () => new Promise<void>(() => {})],
    ["a promise that is kept much later", () => new Promise<void>((resolve) => setTimeout(resolve, 60_000).unref())],
  ])("keeps no run from its end: %s", async (_, error) => {
    const store = memoryStore();
    const runtime = open(scripted([text("ok")]), {
      store,
      plugins: [failing],
      agents: { default: { model: "fast", plugins: ["failing"] } },
      log: { warn() {}, error },
    });
    const run = runtime.stream({ thread: "t", input: "x" });
    const ends: string[] = [];
    for await (const { type } of run) if (type === "run-end") ends.push(type);
    expect(ends).toEqual(["run-end"]);
    expect((await run.result).status).toBe("done");
    expect((await store.runs.load(run.id))?.status).toBe("done");
    await runtime.close();
  });
});

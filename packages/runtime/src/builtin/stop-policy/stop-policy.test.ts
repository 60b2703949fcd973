import { type JsonObject, runId, type Turn } from "@awaken/contract";
import type { StopCondition } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import { command } from "../../phase/command.ts";
import { callOf, createBench, failedTurn, plugin, turnOf } from "../../plugin/engine-bench.test-support.ts";
import { runLifecycle, terminationOf } from "../../state/run-lifecycle.ts";
import { stopStats } from "./stats.ts";
import { stopPolicy } from "./stop-policy.ts";

const spent = (inputTokens: number, outputTokens: number) =>
  turnOf("some text", { usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } });

/** A run with only this policy: `turn` plays one inference and says why the run ended, if it did. */
async function running(conditions: readonly StopCondition[], maxSteps = 0, more: Parameters<typeof createBench>[0]["plugins"] = []) {
  let now = 1_000;
  const bench = createBench({
    plugins: more,
    runtimePlugins: [stopPolicy(maxSteps, conditions)],
    scene: { clock: { now: () => now, timer: () => () => {} } },
  });
  await bench.engine.submit(command().update(runLifecycle, { type: "start", runId: runId("r1"), at: now }));
  await bench.engine.run("runStart", { isContinuation: false });
  let step = 0;
  return {
    ...bench,
    stats: () => bench.store.snapshot().get(stopStats),
    async turn(turn: Turn, afterMs = 0) {
      now += afterMs;
      step += 1;
      await bench.engine.run("afterInference", { step, turn, offeredTools: [] });
      return terminationOf(bench.store.snapshot().get(runLifecycle));
    },
  };
}

/** What the run ended with after each of these turns. */
async function played(conditions: readonly StopCondition[], turns: readonly Turn[], maxSteps = 0) {
  const run = await running(conditions, maxSteps);
  const codes: (string | undefined)[] = [];
  for (const turn of turns) {
    const termination = await run.turn(turn);
    codes.push(termination?.type === "stopped" ? termination.code : termination?.type);
  }
  return codes;
}

const texts = (...all: readonly string[]) => all.map((text) => turnOf(text));

describe("stopPolicy", () => {
  it("is called by what it holds", () => {
    expect(stopPolicy(3).id).toBe("stop-condition:max-steps");
    expect(stopPolicy(3, [{ type: "timeout", seconds: 1 }]).id).toBe("stop-condition");
  });

  it("max-steps: stops at the n-th inference, with the numbers", async () => {
    expect(await played([], texts("a", "b", "c"), 3)).toEqual([undefined, undefined, "max-steps"]);
    expect(await played([{ type: "max-steps", steps: 2 }], texts("a", "b"))).toEqual([undefined, "max-steps"]);
    const run = await running([], 1);
    expect(await run.turn(turnOf("a"))).toEqual({ type: "stopped", code: "max-steps", detail: "1 of 1 steps" });
  });

  it("timeout: stops when more time than the limit has passed since the start", async () => {
    const run = await running([{ type: "timeout", seconds: 5 }]);
    expect(await run.turn(turnOf("a"), 5_000)).toBeUndefined();
    expect(await run.turn(turnOf("b"), 1)).toEqual({ type: "stopped", code: "timeout", detail: "over 5 s" });
  });

  it("token-budget: stops when input and output together are over the limit", async () => {
    expect(await played([{ type: "token-budget", maxTotal: 10 }], [spent(3, 2), spent(3, 2), spent(0, 1)])).toEqual([
      undefined,
      undefined,
      "token-budget",
    ]);
  });

  it("consecutive-errors: stops at the n-th failed inference in a row; a good one starts the count anew", async () => {
    const condition: StopCondition = { type: "consecutive-errors", max: 2 };
    expect(await played([condition], [failedTurn(), turnOf("ok"), failedTurn(), failedTurn()])).toEqual([
      undefined,
      undefined,
      undefined,
      "consecutive-errors",
    ]);
  });

  it("stop-on-tool: stops when the turn asks for that tool", async () => {
    const asks = (...names: readonly string[]) => turnOf("", { toolCalls: names.map((name, index) => callOf(name, {}, `c${index}`)) });
    const condition: StopCondition = { type: "stop-on-tool", toolName: "finish" };
    expect(await played([condition], [turnOf("finish"), asks("start"), asks("start", "finish")])).toEqual([
      undefined,
      undefined,
      "stop-on-tool",
    ]);
  });

  it("content-match: stops when the latest text matches, and by its own code when the pattern is no expression", async () => {
    const match = (pattern: string): StopCondition => ({ type: "content-match", pattern });
    expect(await played([match("^DONE\\b")], texts("almost DONE", "DONE now"))).toEqual([undefined, "content-match"]);
    expect(await played([match("ü+$")], texts("üü"))).toEqual(["content-match"]);
    expect(await played([match("(")], texts("a"))).toEqual(["content-match-invalid-regex"]);
  });

  it("loop-detection: stops when the last texts are equal to the letter; empty ones do not count", async () => {
    const loop = (window: number): StopCondition => ({ type: "loop-detection", window });
    expect(await played([loop(2)], texts("a", "b", "b "))).toEqual([undefined, undefined, undefined]);
    expect(await played([loop(2)], texts("a", "b", "b"))).toEqual([undefined, undefined, "loop-detection"]);
    expect(await played([loop(3)], texts("a", "a", "b", "a", "a", "a"))).toEqual([...new Array(5).fill(undefined), "loop-detection"]);
    expect(await played([loop(2)], texts("a", "", "", "a"))).toEqual([undefined, undefined, undefined, "loop-detection"]);
    expect(await played([loop(2)], texts("", "", ""))).toEqual([undefined, undefined, undefined]);
    expect((await played([loop(64)], texts(...new Array(64).fill("a")))).at(-1)).toBe("loop-detection");
  });

  it("core-execution 95: loop-detection sees the same call with the same input in every step, whatever is said beside it", async () => {
    const asks = (said: string, input: JsonObject, id: string, name = "look") => turnOf(said, { toolCalls: [callOf(name, input, id)] });
    const loop: StopCondition = { type: "loop-detection", window: 3 };
    const same = [asks("one", { a: 1, b: [2] }, "c1"), asks("", { b: [2], a: 1 }, "c2"), asks("three", { a: 1, b: [2] }, "c3")];
    expect(await played([loop], same)).toEqual([undefined, undefined, "loop-detection"]);
    const others = [asks("", { a: 1 }, "c1"), asks("", { a: 1 }, "c2"), asks("", { a: 2 }, "c3"), asks("", { a: 2 }, "c4", "peek")];
    expect(await played([loop], others)).toEqual([undefined, undefined, undefined, undefined]);
    expect(await played([loop], [asks("", {}, "c1"), turnOf("x"), asks("", {}, "c2"), asks("", {}, "c3")])).toEqual([...new Array(4)]);
  });

  it("a limit of zero, an empty pattern and a window below two never stop", async () => {
    const off: readonly StopCondition[] = [
      { type: "max-steps", steps: 0 },
      { type: "timeout", seconds: 0 },
      { type: "token-budget", maxTotal: 0 },
      { type: "consecutive-errors", max: 0 },
      { type: "content-match", pattern: "" },
      { type: "loop-detection", window: 0 },
      { type: "loop-detection", window: 1 },
    ];
    const run = await running(off, 0);
    for (const turn of [spent(1_000, 1_000), spent(1_000, 1_000), failedTurn("some text"), failedTurn("some text")]) {
      expect(await run.turn(turn, 100_000_000)).toBeUndefined();
    }
  });

  it("the first that fires wins: the step limit, then the conditions in their order", async () => {
    const match: StopCondition = { type: "content-match", pattern: "a" };
    const budget: StopCondition = { type: "token-budget", maxTotal: 1 };
    const turn = turnOf("a", { usage: { inputTokens: 5, outputTokens: 5, totalTokens: 10 } });
    expect(await played([match, budget], [turn])).toEqual(["content-match"]);
    expect(await played([budget, match], [turn])).toEqual(["token-budget"]);
    expect(await played([budget, match], [turn], 1)).toEqual(["max-steps"]);
  });
});

describe("the stats", () => {
  it("start at runStart and count every turn, failed ones too, and keep as many texts as somebody compares", async () => {
    const run = await running([{ type: "loop-detection", window: 64 }]);
    expect(run.stats()).toEqual({
      stepCount: 0,
      totalInputTokens: 0,
      totalOutputTokens: 0,
      startTimeMs: 1_000,
      consecutiveErrors: 0,
      recentTexts: [],
    });
    await run.turn(spent(3, 4));
    await run.turn(failedTurn("partial"));
    expect(run.stats()).toEqual({
      stepCount: 2,
      totalInputTokens: 3,
      totalOutputTokens: 4,
      startTimeMs: 1_000,
      consecutiveErrors: 1,
      recentTexts: ["some text", "partial"],
      recentCalls: ["", ""],
    });
    for (let n = 0; n < 100; n++) await run.turn(turnOf(`text ${n}`));
    expect(run.stats()?.recentTexts).toHaveLength(64);
    expect(run.stats()?.recentTexts.at(-1)).toBe("text 99");
    const other = await running([{ type: "timeout", seconds: 0 }]);
    await other.turn(turnOf("long text"));
    expect(other.stats()?.recentTexts).toEqual([]);
  });

  it("include the turn that stops the run, and the first reason stays", async () => {
    const run = await running([{ type: "content-match", pattern: "stop" }], 2);
    expect(await run.turn(turnOf("stop"))).toMatchObject({ code: "content-match" });
    expect(run.stats()).toMatchObject({ stepCount: 1, recentTexts: [] });
    expect(await run.turn(turnOf("more"))).toMatchObject({ code: "content-match" });
  });

  it("go on when the same run is resumed: clock, counts and texts (D12)", async () => {
    const conditions: readonly StopCondition[] = [
      { type: "token-budget", maxTotal: 10 },
      { type: "timeout", seconds: 60 },
    ];
    const first = await running(conditions);
    await first.turn(spent(4, 4), 30_000);
    const stored = JSON.parse(JSON.stringify(first.store.export("run")));

    const resume = (at: number) => {
      const bench = createBench({
        plugins: [],
        runtimePlugins: [stopPolicy(0, conditions)],
        scene: { clock: { now: () => at, timer: () => () => {} } },
      });
      bench.store.restore(stored, "error");
      return bench;
    };
    const soon = resume(40_000);
    await soon.engine.run("runStart", { isContinuation: true });
    await soon.engine.run("afterInference", { step: 2, turn: spent(2, 1), offeredTools: [] });
    expect(terminationOf(soon.store.snapshot().get(runLifecycle))).toMatchObject({ code: "token-budget", detail: "11 of 10 tokens" });

    const late = resume(61_001);
    await late.engine.run("runStart", { isContinuation: true });
    await late.engine.run("afterInference", { step: 2, turn: spent(0, 0), offeredTools: [] });
    expect(terminationOf(late.store.snapshot().get(runLifecycle))).toMatchObject({ code: "timeout" });
  });

  it.each<[string, StopCondition[]]>([
    ["nothing but the limit", []],
    ["a condition", [{ type: "timeout", seconds: 0 }]],
  ])("are counted once per turn also when the policy loses a conflict and runs again, with %s", async (_, conditions) => {
    const rival = plugin("rival", (r) =>
      r.hook("afterInference", ({ clock }) => command().update(runLifecycle, { type: "set-running", at: clock.now() })),
    );
    const run = await running(conditions, 2, [rival]);
    expect(await run.turn(turnOf("a"))).toBeUndefined();
    expect(await run.turn(turnOf("b"))).toMatchObject({ code: "max-steps" });
    expect(run.stats()?.stepCount).toBe(conditions.length === 0 ? undefined : 2);
  });

  it("are not kept for a limit of steps alone, unless the run may be handed over", async () => {
    const alone = await running([], 2);
    expect(await alone.turn(turnOf("a"))).toBeUndefined();
    expect(await alone.turn(turnOf("b"))).toEqual({ type: "stopped", code: "max-steps", detail: "2 of 2 steps" });
    expect(alone.stats()).toBeUndefined();
    const bench = createBench({ plugins: [], runtimePlugins: [stopPolicy(2, [], true)] });
    await bench.engine.run("runStart", { isContinuation: false });
    await bench.engine.run("afterInference", { step: 1, turn: spent(3, 4), offeredTools: [] });
    expect(bench.store.snapshot().get(stopStats)).toMatchObject({ stepCount: 1, totalInputTokens: 3 });
  });

  it("begin where they are needed first, in a run that was begun with an agent that keeps none", async () => {
    let now = 1_000_000;
    const bench = createBench({
      plugins: [],
      runtimePlugins: [stopPolicy(5, [{ type: "timeout", seconds: 5 }])],
      scene: { clock: { now: () => now, timer: () => () => {} } },
    });
    await bench.engine.submit(command().update(runLifecycle, { type: "start", runId: runId("r1"), at: now }));
    const turn = async (step: number) => {
      await bench.engine.run("afterInference", { step, turn: turnOf("a"), offeredTools: [] });
      return terminationOf(bench.store.snapshot().get(runLifecycle));
    };
    expect(await turn(3)).toBeUndefined();
    now += 5_000;
    expect(await turn(4)).toBeUndefined();
    expect(await turn(5)).toMatchObject({ code: "max-steps", detail: "5 of 5 steps" });
    const other = createBench({
      plugins: [],
      runtimePlugins: [stopPolicy(0, [{ type: "timeout", seconds: 5 }])],
      scene: { clock: { now: () => now, timer: () => () => {} } },
    });
    await other.engine.submit(command().update(runLifecycle, { type: "start", runId: runId("r1"), at: now }));
    await other.engine.run("afterInference", { step: 3, turn: turnOf("a"), offeredTools: [] });
    now += 5_001;
    await other.engine.run("afterInference", { step: 4, turn: turnOf("a"), offeredTools: [] });
    expect(terminationOf(other.store.snapshot().get(runLifecycle))).toMatchObject({ code: "timeout" });
  });
});

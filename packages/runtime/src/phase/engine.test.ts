import { runId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { compileEnv } from "../plugin/compile-env.ts";
import {
  boundsOf,
  counter,
  createBench,
  latch,
  localAgent,
  plugin,
  sceneOf,
  storeOf,
  thrownBy,
} from "../plugin/engine-bench.test-support.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { defineAction } from "./action.ts";
import { failedActions, pendingActions } from "./action-queue.ts";
import { command } from "./command.ts";
import { DEFAULT_MAX_ROUNDS, PhaseEngine } from "./engine.ts";
import type { RunScene } from "./hook.ts";

const total = counter("total");
const payload = z.string();
const now = defineAction("now", { phase: "stepStart", payload });
const next = defineAction("next", { phase: "stepStart", payload });
const elsewhere = defineAction("elsewhere", { phase: "beforeInference", payload });
const closing = defineAction("closing", { phase: "runEnd", payload });
const typed = defineAction("typed", { phase: "stepStart", payload: z.object({ n: z.number() }) });

const pendingOf = (store: { snapshot(): { get(key: typeof pendingActions): readonly { action: { payload: unknown } }[] | undefined } }) =>
  (store.snapshot().get(pendingActions) ?? []).map((entry) => entry.action.payload);

describe("execute", () => {
  it("core-execution 20: a handler that always reschedules itself, with limit 3, fails after exactly three executions", async () => {
    let executions = 0;
    const { engine, store } = createBench({
      maxRounds: 3,
      plugins: [
        plugin("p", (r) =>
          r.action(now, (text) => {
            executions += 1;
            return command().schedule(now, text);
          }),
        ),
      ],
    });
    await engine.submit(command().schedule(now, "again"));
    const error = await thrownBy(() => engine.run("stepStart", { step: 1 }));
    expect(error).toMatchObject({ code: "phase_run_loop_exceeded", details: { phase: "stepStart", maxRounds: 3 } });
    expect(executions).toBe(3);
    expect(pendingOf(store)).toEqual(["again"]);
  });

  it("comes to rest within the limit minus one rounds, because the empty look is a round too; the default limit is 16", async () => {
    expect(DEFAULT_MAX_ROUNDS).toBe(16);
    const chain = async (productive: number, maxRounds?: number) => {
      let executions = 0;
      const { engine } = createBench({
        ...(maxRounds === undefined ? {} : { maxRounds }),
        plugins: [
          plugin("p", (r) =>
            r.action(now, () => {
              executions += 1;
              return executions < productive ? command().schedule(now, "more") : undefined;
            }),
          ),
        ],
      });
      await engine.submit(command().schedule(now, "first"));
      return engine.run("stepStart", { step: 1 });
    };
    expect(await chain(2, 3)).toBe("completed");
    expect((await thrownBy(() => chain(3, 3))).code).toBe("phase_run_loop_exceeded");
    expect(await chain(15)).toBe("completed");
    expect((await thrownBy(() => chain(16))).details).toEqual({ phase: "stepStart", maxRounds: 16 });
  });

  it("core-execution 21: a failing or undecodable action goes to the failed list, and its siblings still run", async () => {
    const ran: string[] = [];
    const { engine, store, log } = createBench({
      plugins: [
        plugin("p", (r) => {
          r.action(now, (text) => {
            if (text === "bad") throw new Error("broken");
            ran.push(text);
          });
          r.action(typed, () => {
            ran.push("typed");
          });
        }),
      ],
    });
    const given = command().schedule(now, "a").schedule(now, "bad").schedule(typed, { n: 1 }).schedule(now, "b");
    given.actions.splice(3, 0, { key: "typed", phase: "stepStart", payload: { n: "one" } });
    await engine.submit(given);
    expect(await engine.run("stepStart", { step: 1 })).toBe("completed");
    expect(ran).toEqual(["a", "typed", "b"]);
    expect(pendingOf(store)).toEqual([]);
    expect(store.snapshot().get(failedActions)).toEqual([
      { id: 2, action: { phase: "stepStart", key: "now", payload: "bad" }, error: "broken" },
      {
        id: 4,
        action: { phase: "stepStart", key: "typed", payload: { n: "one" } },
        error: expect.stringContaining("payload does not fit: n: "),
      },
    ]);
    expect(log.warnings).toHaveLength(2);
  });

  it("dead-letters an action whose command cannot be submitted, with a prefix, and applies nothing of it", async () => {
    const { engine, store } = createBench({
      plugins: [
        plugin("p", (r) => {
          r.state(total);
          r.action(now, (text) => {
            if (text === "unknown key") return command().update(total, 1).update(counter("stranger"), 1);
            if (text === "unknown action") return command().update(total, 1).schedule(next, "x");
            if (text === "stale") return command().update(total, 1).from(0);
            return command().update(total, 100);
          });
        }),
      ],
    });
    await engine.submit(
      command().schedule(now, "unknown key").schedule(now, "unknown action").schedule(now, "stale").schedule(now, "good"),
    );
    await engine.run("stepStart", { step: 1 });
    expect(
      store
        .snapshot()
        .get(failedActions)
        ?.map((entry) => entry.error),
    ).toEqual([
      "failed to submit action command: state key 'stranger' is not registered",
      "failed to submit action command: no plugin handles the action 'next'",
      expect.stringMatching(/^failed to submit action command: computed from revision 0, /),
    ]);
    expect([store.snapshot().get(total), pendingOf(store)]).toEqual([100, []]);
  });

  it("core-execution 22: an action for another phase stays pending until its phase comes", async () => {
    const ran: string[] = [];
    const { engine, store } = createBench({
      plugins: [
        plugin("p", (r) => {
          for (const action of [now, elsewhere]) {
            r.action(action, (text) => {
              ran.push(text);
            });
          }
        }),
      ],
    });
    await engine.submit(command().schedule(elsewhere, "later").schedule(now, "now"));
    await engine.run("stepStart", { step: 1 });
    expect([ran, pendingOf(store)]).toEqual([["now"], ["later"]]);
    await engine.run("beforeInference", { step: 1 });
    expect([ran, pendingOf(store)]).toEqual([["now", "later"], []]);
  });

  it("core-execution 23: an action that a tool scheduled executes once, in the next beforeInference", async () => {
    const ran: string[] = [];
    const { engine, store } = createBench({
      plugins: [
        plugin("p", (r) =>
          r.action(elsewhere, (text) => {
            ran.push(text);
          }),
        ),
      ],
    });
    const byTool = command().schedule(elsewhere, "from the tool");
    engine.check(byTool);
    const call = { call: { id: "c1", name: "t", input: {} }, resume: undefined, result: { type: "success", data: 1 } };
    await Reflect.apply(engine.run, engine, ["afterToolExecute", call, byTool]);
    await engine.run("stepEnd", { step: 1 });
    expect([ran, pendingOf(store)]).toEqual([[], ["from the tool"]]);
    for (const step of [2, 3]) await engine.run("beforeInference", { step });
    expect([ran, pendingOf(store)]).toEqual([["from the tool"], []]);
  });

  it("executes actions scheduled for afterToolExecute right after the call's commit (D3)", async () => {
    const seen: unknown[] = [];
    const after = defineAction("after", { phase: "afterToolExecute", payload });
    const { engine } = createBench({
      plugins: [
        plugin("p", (r) => {
          r.state(total);
          r.action(after, (text, { state }) => {
            seen.push(text, state.get(total));
          });
        }),
      ],
    });
    const call = { call: { id: "c1", name: "t", input: {} }, resume: undefined, result: { type: "success", data: 1 } };
    await Reflect.apply(engine.run, engine, ["afterToolExecute", call, command().update(total, 7).schedule(after, "now")]);
    expect(seen).toEqual(["now", 7]);
  });

  it("runs due actions one after the other, in the order of the queue, each on a fresh snapshot", async () => {
    const seen: string[] = [];
    const { engine, store } = createBench({
      plugins: [
        plugin("p", (r) => {
          r.state(total);
          r.action(now, async (text, { state }) => {
            seen.push(`${text} saw ${state.get(total)}`);
            await new Promise((resolve) => setTimeout(resolve, text === "a" ? 5 : 0));
            return command().update(total, 1);
          });
          r.hook("stepStart", () => command().schedule(now, "gathered"));
        }),
      ],
    });
    await engine.submit(command().schedule(now, "a").schedule(now, "b"));
    await engine.run("stepStart", { step: 1 });
    expect(seen).toEqual(["a saw undefined", "b saw 1", "gathered saw 2"]);
    expect(store.snapshot().get(total)).toBe(3);
  });

  it("does not execute what a sibling dropped by ending the run", async () => {
    const ran: string[] = [];
    const { engine, store } = createBench({
      plugins: [
        plugin("p", (r) =>
          r.action(now, (text) => {
            ran.push(text);
            return text === "end"
              ? command().update(runLifecycle, { type: "done", termination: { type: "behavior-requested" }, at: 1 })
              : undefined;
          }),
        ),
      ],
    });
    await engine.submit(command().update(runLifecycle, { type: "start", runId: runId("r1"), at: 1 }));
    await engine.submit(command().schedule(now, "end").schedule(now, "too late"));
    await engine.run("stepStart", { step: 1 });
    expect([ran, pendingOf(store)]).toEqual([["end"], []]);
  });

  it("leaves actions that nobody handles queued, and executes them when somebody does, after a handoff", async () => {
    const ran: string[] = [];
    const handling = (id: string) =>
      plugin(id, (r) =>
        r.action(now, (text) => {
          ran.push(`${id}: ${text}`);
        }),
      );
    const { engine, store } = createBench({ plugins: [handling("first")] });
    await engine.submit(command().schedule(now, "work"));
    engine.table = compileEnv({ plugins: [] });
    expect(await engine.run("stepStart", { step: 1 })).toBe("completed");
    expect(pendingOf(store)).toEqual(["work"]);
    engine.table = compileEnv({ plugins: [handling("second")] });
    await engine.run("stepStart", { step: 2 });
    expect([ran, pendingOf(store)]).toEqual([["second: work"], []]);
  });

  it("keeps the last hundred failures", async () => {
    const { engine, store } = createBench({
      plugins: [
        plugin("p", (r) =>
          r.action(now, () => {
            throw new Error("broken");
          }),
        ),
      ],
    });
    const given = command();
    for (let n = 0; n < 130; n++) given.schedule(now, String(n));
    await engine.submit(given);
    await engine.run("stepStart", { step: 1 });
    const failed = store.snapshot().get(failedActions) ?? [];
    expect([failed.length, failed[0]?.id, failed.at(-1)?.id]).toEqual([100, 31, 130]);
  });
});

describe("abort", () => {
  const build = (signal: AbortSignal, hook: () => void | Promise<void> = () => {}) => {
    const seen: string[] = [];
    const made = createBench({
      scene: { signal },
      plugins: [
        plugin("p", (r) => {
          r.state(total);
          for (const phase of ["stepStart", "stepEnd", "runEnd"] as const) {
            r.hook(phase, async () => {
              seen.push(phase);
              await hook();
              return command().update(total, 1);
            });
          }
          for (const action of [now, closing]) {
            r.action(action, (text) => {
              seen.push(text);
            });
          }
        }),
      ],
    });
    return { ...made, seen };
  };

  it("at the entry of a phase: cancelled, and no hook and no action runs", async () => {
    const { engine, seen, store } = build(AbortSignal.abort());
    await engine.submit(command().schedule(now, "action"));
    expect(await engine.run("stepStart", { step: 1 })).toBe("cancelled");
    expect(await engine.run("beforeInference", { step: 1 })).toBe("cancelled");
    expect([seen, store.revision, pendingOf(store)]).toEqual([[], 1, ["action"]]);
  });

  it("at the entry of a phase: what it begins with is recorded, because it already happened", async () => {
    const { engine, seen, store } = build(AbortSignal.abort());
    expect(await engine.run("stepStart", { step: 1 }, command().update(total, 5))).toBe("cancelled");
    expect([seen, store.snapshot().get(total)]).toEqual([[], 5]);
  });

  it("between gather and execute: cancelled, what was gathered stays, due actions do not run", async () => {
    const controller = new AbortController();
    const { engine, seen, store } = build(controller.signal, () => controller.abort());
    await engine.submit(command().schedule(now, "action"));
    expect(await engine.run("stepStart", { step: 1 })).toBe("cancelled");
    expect(seen).toEqual(["stepStart"]);
    expect([store.snapshot().get(total), pendingOf(store)]).toEqual([1, ["action"]]);
  });

  it("does not keep stepEnd and runEnd from running, with their actions (D27)", async () => {
    const controller = new AbortController();
    const { engine, seen, store } = build(controller.signal);
    controller.abort();
    expect(await engine.run("stepEnd", { step: 1 })).toBe("completed");
    expect(await engine.run("runEnd", { termination: { type: "cancelled" } }, command().schedule(closing, "closing"))).toBe("completed");
    expect([seen, store.snapshot().get(total)]).toEqual([["stepEnd", "runEnd", "closing"], 2]);
  });

  it("does not interrupt a hook that runs; it is seen afterwards", async () => {
    const controller = new AbortController();
    const [started, goOn] = [latch(), latch()];
    const { engine, store } = build(controller.signal, async () => {
      started.open();
      await goOn.opened;
    });
    const running = engine.run("stepStart", { step: 1 });
    await started.opened;
    controller.abort();
    goOn.open();
    expect(await running).toBe("cancelled");
    expect(store.snapshot().get(total)).toBe(1);
  });
});

describe("the scene", () => {
  it("is what it is when the phase runs: agent, messages, signal, clock, profile, and the phase's own facts (D1, D4)", async () => {
    const inputs: Record<string, unknown>[] = [];
    const env = compileEnv({
      plugins: [
        plugin("p", (r) => {
          for (const phase of ["stepStart", "stepEnd"] as const) {
            r.hook(phase, (input) => {
              inputs.push({ ...input });
            });
          }
        }),
      ],
    });
    const scenes: RunScene[] = [sceneOf({ agent: localAgent("first") }), sceneOf({ agent: localAgent("second") })];
    let current = 0;
    const store = storeOf(env.stateKeys);
    const engine = new PhaseEngine({
      store,
      table: env,
      seat: {
        get scene() {
          return scenes[current] ?? sceneOf();
        },
      },
      log: { warn: () => {}, error: () => {} },
      bounds: boundsOf(sceneOf()),
    });
    await engine.run("stepStart", { step: 1 });
    current = 1;
    await engine.run("stepEnd", { step: 1 });
    expect(inputs[0]).toMatchObject({ phase: "stepStart", step: 1, agent: { id: "first" }, messages: [], state: store.snapshot() });
    expect(inputs[1]).toMatchObject({ phase: "stepEnd", step: 1, agent: { id: "second" }, identity: { runId: "r1" } });
    for (const [index, input] of inputs.entries()) {
      const scene = scenes[index];
      expect([input["signal"], input["clock"], input["profile"]]).toEqual([scene?.signal, scene?.clock, scene?.profile]);
    }
  });
});

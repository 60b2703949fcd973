import type { HookPhase, ToolResult } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import {
  callOf,
  counter,
  createBench,
  latch,
  plugin,
  recordedLog,
  refusedBy,
  sceneOf,
  slot,
  thrownBy,
  turnOf,
} from "../plugin/engine-bench.test-support.ts";
import { resolveGates } from "../tool/resolve-gates.ts";
import { guessToolKind } from "../tool/tool-kind.ts";
import { type Command, command } from "./command.ts";
import type { PhaseFacts } from "./hook.ts";

const total = counter("total");
const aside = counter("aside");
const sum = counter("sum", "commutative");
const words = slot("words");
const keys = plugin("keys", (r) => {
  for (const key of [total, aside, sum]) r.state(key);
  r.state(words);
});

const done: ToolResult = { type: "success", data: null };
const FACTS: PhaseFacts = {
  runStart: { isContinuation: false },
  stepStart: { step: 1 },
  beforeInference: { step: 1 },
  afterInference: { step: 1, turn: turnOf("hi"), offeredTools: [] },
  beforeToolExecute: { call: callOf("x"), resume: undefined },
  afterToolExecute: { call: callOf("x"), resume: undefined, result: done },
  stepEnd: { step: 1 },
  runEnd: { termination: { type: "natural-end" } },
};
const HOOK_PHASES = Object.keys(FACTS) as HookPhase[];

describe("gather", () => {
  it("core-execution 14: two hooks of one phase do not see each other's write", async () => {
    const seen: unknown[] = [];
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("a", (r) =>
          r.hook("stepStart", ({ state }) => {
            seen.push(state.get(total), state.get(aside));
            return command().update(total, 1);
          }),
        ),
        plugin("b", (r) =>
          r.hook("stepStart", async ({ state }) => {
            await Promise.resolve();
            seen.push(state.get(total), state.get(aside));
            return command().update(aside, 1);
          }),
        ),
      ],
    });
    expect(await engine.run("stepStart", { step: 1 })).toBe("completed");
    expect(seen).toEqual([undefined, undefined, undefined, undefined]);
    expect([store.snapshot().get(total), store.snapshot().get(aside), store.revision]).toEqual([1, 1, 1]);
  });

  it("core-execution 15: two hooks on one exclusive counter give 30, and the deferred one saw 10", async () => {
    const seen: string[] = [];
    const add = (id: string, amount: number) =>
      plugin(id, (r) =>
        r.hook("stepStart", ({ state }) => {
          seen.push(`${id} saw ${state.get(total)}`);
          return command().update(total, amount);
        }),
      );
    const { store, engine } = createBench({ plugins: [keys, add("ten", 10), add("twenty", 20)] });
    await engine.run("stepStart", { step: 1 });
    expect(store.snapshot().get(total)).toBe(30);
    expect(seen).toEqual(["ten saw undefined", "twenty saw undefined", "twenty saw 10"]);
    expect(store.revision).toBe(2);
  });

  it("core-execution 16: of three hooks with two in conflict, the independent one runs exactly once", async () => {
    const runs = { a: 0, free: 0, b: 0 };
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("p", (r) => {
          r.hook("stepStart", () => {
            runs.a += 1;
            return command().update(total, 1);
          });
          r.hook("stepStart", () => {
            runs.free += 1;
            return command().update(aside, 1);
          });
          r.hook("stepStart", () => {
            runs.b += 1;
            return command().update(total, 1);
          });
        }),
      ],
    });
    await engine.run("stepStart", { step: 1 });
    expect(runs).toEqual({ a: 1, free: 1, b: 2 });
    expect([store.snapshot().get(total), store.snapshot().get(aside)]).toEqual([2, 1]);
  });

  it("core-execution 17: an exclusive conflict in beforeInference, as in every phase, does not fail the step (D5)", async () => {
    for (const phase of HOOK_PHASES) {
      const { store, engine } = createBench({
        plugins: [
          keys,
          plugin("p", (r) => {
            for (const amount of [10, 20]) r.hook(phase, () => command().update(total, amount));
          }),
        ],
      });
      expect(await engine.run(phase, FACTS[phase])).toBe("completed");
      expect([phase, store.snapshot().get(total)]).toEqual([phase, 30]);
    }
  });

  it("core-execution 24: a hook on toolGate never fires", async () => {
    let fired = 0;
    const { engine, env } = createBench({
      plugins: [
        plugin("untyped", (r) => {
          const hook = () => {
            fired += 1;
          };
          Reflect.apply(r.hook, r, ["toolGate", hook]);
        }),
      ],
    });
    const call = callOf("x");
    const input = {
      ...sceneOf(),
      state: { revision: 0, get: () => undefined },
      phase: "toolGate",
      call,
      toolKind: guessToolKind("x"),
      resume: undefined,
    } as const;
    expect(await resolveGates(env.gates, input, recordedLog())).toBeUndefined();
    for (const phase of HOOK_PHASES) await engine.run(phase, FACTS[phase]);
    expect(fired).toBe(0);
  });

  it("core-execution 24: a background commit to another key while a hook awaits changes nothing for the phase (D30)", async () => {
    const [started, goOn] = [latch(), latch()];
    let runs = 0;
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("slow", (r) =>
          r.hook("stepStart", async () => {
            runs += 1;
            started.open();
            await goOn.opened;
            return command().update(total, 1);
          }),
        ),
      ],
    });
    const running = engine.run("stepStart", { step: 1 });
    await started.opened;
    store.commit(command().update(aside, 5).update(sum, 5));
    goOn.open();
    expect(await running).toBe("completed");
    expect([runs, store.snapshot().get(total), store.snapshot().get(aside)]).toEqual([1, 1, 5]);
  });

  it("core-execution 24: a background commit to the same exclusive key makes the hook run again on the fresh value (D30)", async () => {
    const [started, goOn] = [latch(), latch()];
    const seen: unknown[] = [];
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("slow", (r) =>
          r.hook("stepStart", async ({ state }) => {
            const before = state.get(total) ?? 0;
            seen.push(before);
            started.open();
            await goOn.opened;
            return command().update(words, `doubled ${before}`).update(total, before);
          }),
        ),
      ],
    });
    store.commit(command().update(total, 1));
    const running = engine.run("stepStart", { step: 1 });
    await started.opened;
    store.commit(command().update(total, 10));
    goOn.open();
    expect(await running).toBe("completed");
    expect(seen).toEqual([1, 11]);
    expect([store.snapshot().get(total), store.snapshot().get(words)]).toEqual([22, "doubled 11"]);
  });

  it("core-execution 24: a commutative key that others commit meanwhile is no conflict", async () => {
    let runs = 0;
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("slow", (r) =>
          r.hook("stepStart", () => {
            runs += 1;
            store.commit(command().update(sum, 5));
            return command().update(sum, 1);
          }),
        ),
      ],
    });
    await engine.run("stepStart", { step: 1 });
    expect([runs, store.snapshot().get(sum)]).toEqual([1, 6]);
  });

  it("core-execution 24: a hopeless contender ends in revision_conflict after a bound, and its phase commits nothing of it", async () => {
    let runs = 0;
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("unlucky", (r) =>
          r.hook("stepStart", () => {
            runs += 1;
            store.commit(command().update(total, 1));
            return command().update(total, 1_000).update(aside, 1);
          }),
        ),
      ],
    });
    const error = await thrownBy(() => engine.run("stepStart", { step: 1 }));
    expect(error).toMatchObject({ code: "revision_conflict", details: { plugin: "unlucky", expected: runs - 1, actual: runs } });
    expect(runs).toBe(9);
    expect([store.snapshot().get(total), store.snapshot().get(aside)]).toEqual([9, undefined]);
    expect(await engine.run("runEnd", FACTS.runEnd)).toBe("completed");
  });
});

describe("what hooks return", () => {
  it("is nothing, an empty command, or something that is no command: no commit happens", async () => {
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("p", (r) => {
          r.hook("stepStart", () => {});
          r.hook("stepStart", () => undefined);
          r.hook("stepStart", async () => command());
          const untyped: () => void = () => 5;
          r.hook("stepStart", untyped);
        }),
      ],
    });
    const before = store.snapshot();
    expect(await engine.run("stepStart", { step: 1 })).toBe("completed");
    expect(store.snapshot()).toBe(before);
  });

  it("may be one and the same command every time", async () => {
    const [one, two] = [command().update(total, 1), command().update(aside, 1)];
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("p", (r) => {
          r.hook("stepStart", () => one);
          r.hook("stepStart", () => two);
        }),
      ],
    });
    for (let step = 1; step <= 3; step++) await engine.run("stepStart", { step });
    expect([store.snapshot().get(total), store.snapshot().get(aside)]).toEqual([3, 3]);
    expect([one.baseRevision, one.updates.length]).toEqual([undefined, 1]);
  });

  it("fails the phase when a hook throws: every hook has finished, nothing is committed, the first in order is told", async () => {
    const finished: string[] = [];
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("good", (r) =>
          r.hook("stepStart", async () => {
            await new Promise((resolve) => setTimeout(resolve, 5));
            finished.push("good");
            return command().update(total, 1);
          }),
        ),
        plugin("bad", (r) =>
          r.hook("stepStart", async () => {
            throw new Error("broken");
          }),
        ),
        plugin("worse", (r) =>
          r.hook("stepStart", () => {
            throw new Error("broken too");
          }),
        ),
      ],
    });
    const error = await refusedBy(store, () => engine.run("stepStart", { step: 1 }));
    expect(error).toMatchObject({ code: "hook_failed", details: { plugin: "bad", phase: "stepStart" }, cause: new Error("broken") });
    expect(finished).toEqual(["good"]);
  });

  it("is refused when it was computed from a revision of its own that is not the current one", async () => {
    const stale = (given: () => Command) =>
      createBench({
        plugins: [
          keys,
          plugin("p", (r) => {
            r.hook("stepStart", given);
          }),
        ],
      });
    const alone = stale(() => command().update(total, 1).from(7));
    const error = await refusedBy(alone.store, () => alone.engine.run("stepStart", { step: 1 }));
    expect(error).toMatchObject({ code: "revision_conflict", details: { expected: 7, actual: 0 } });

    const together = createBench({
      plugins: [
        keys,
        plugin("p", (r) => {
          r.hook("stepStart", () => command().update(aside, 1));
          r.hook("stepStart", () => command().update(total, 1).from(7));
        }),
      ],
    });
    const mixed = await refusedBy(together.store, () => together.engine.run("stepStart", { step: 1 }));
    expect(mixed).toMatchObject({ code: "mutation_base_revision_mismatch", details: { left: 0, right: 7 } });
  });

  it("may name the revision that it saw, and is then treated as any other", async () => {
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("p", (r) => {
          r.hook("stepStart", ({ state }) => {
            if (state.get(total) === undefined) store.commit(command().update(total, 100));
            return command().update(total, 1).from(state.revision);
          });
          r.hook("stepStart", ({ state }) => command().update(total, 1).from(state.revision));
        }),
      ],
    });
    await engine.run("stepStart", { step: 1 });
    expect(store.snapshot().get(total)).toBe(102);
  });

  it("fails the phase when it names an unknown key, and nothing of the others is committed", async () => {
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("p", (r) => {
          r.hook("stepStart", () => command().update(total, 1));
          r.hook("stepStart", () => command().update(counter("stranger"), 1));
        }),
      ],
    });
    const error = await refusedBy(store, () => engine.run("stepStart", { step: 1 }));
    expect(error).toMatchObject({ code: "unknown_key", details: { key: "stranger" } });
  });

  it("of a deferred hook may be nothing the second time", async () => {
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("p", (r) => {
          r.hook("stepStart", () => command().update(total, 1));
          r.hook("stepStart", ({ state }) => (state.get(total) === undefined ? command().update(total, 1) : undefined));
        }),
      ],
    });
    await engine.run("stepStart", { step: 1 });
    expect(store.snapshot().get(total)).toBe(1);
  });
});

describe("the command that a phase begins with", () => {
  it("is committed together with what the hooks gather, once", async () => {
    const { store, engine } = createBench({ plugins: [keys, plugin("p", (r) => r.hook("stepStart", () => command().update(aside, 1)))] });
    const first = command().update(total, 1);
    await engine.run("stepStart", { step: 1 }, first);
    expect([store.revision, store.snapshot().get(total), store.snapshot().get(aside)]).toEqual([1, 1, 1]);
    expect(first.updates).toHaveLength(1);
  });

  it("comes before the hooks: one that would change the same exclusive key runs again and sees it", async () => {
    const seen: unknown[] = [];
    const { store, engine } = createBench({
      plugins: [
        keys,
        plugin("p", (r) =>
          r.hook("afterToolExecute", ({ state }) => {
            seen.push(state.get(total));
            return command().update(total, 1);
          }),
        ),
      ],
    });
    await engine.run("afterToolExecute", FACTS.afterToolExecute, command().update(total, 10));
    expect([seen, store.snapshot().get(total)]).toEqual([[undefined, 10], 11]);
  });

  it("is committed also when a hook throws or returns what cannot be committed, alone", async () => {
    for (const [hook, code] of [
      [() => Promise.reject(new Error("broken")), "hook_failed"],
      [() => command().update(aside, 1).update(counter("stranger"), 1), "unknown_key"],
      [() => command().update(aside, 1).from(7), "revision_conflict"],
    ] as const) {
      const { store, engine } = createBench({ plugins: [keys, plugin("p", (r) => r.hook("stepEnd", hook))] });
      const error = await thrownBy(() => engine.run("stepEnd", { step: 1 }, command().update(total, 1)));
      expect(error.code).toBe(code);
      expect(store.export("full")).toEqual({ schemaVersion: 1, revision: 1, extensions: { total: 1 } });
    }
  });

  it("fails the phase when it cannot be committed itself", async () => {
    const { store, engine } = createBench({ plugins: [keys, plugin("p", (r) => r.hook("stepEnd", () => command().update(aside, 1)))] });
    const error = await refusedBy(store, () => engine.run("stepEnd", { step: 1 }, command().update(counter("stranger"), 1)));
    expect(error).toMatchObject({ code: "unknown_key", details: { key: "stranger" } });
  });

  it("is committed at once, without a promise, when there are no hooks and nothing is due", () => {
    const { store, engine } = createBench({ plugins: [keys] });
    expect(engine.run("stepStart", { step: 1 }, command().update(total, 1))).toBe("completed");
    expect(store.snapshot().get(total)).toBe(1);
    expect(engine.run("stepStart", { step: 2 })).toBe("completed");
    expect(store.revision).toBe(1);
  });
});

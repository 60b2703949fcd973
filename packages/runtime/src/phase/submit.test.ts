import { runId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { counter, createBench, plugin, refusedBy } from "../plugin/engine-bench.test-support.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { defineAction } from "./action.ts";
import { failedActions, pendingActions } from "./action-queue.ts";
import { command, extendCommand } from "./command.ts";
import { defineEffect } from "./effect.ts";

const total = counter("total");
const note = defineAction("note", { phase: "stepEnd", payload: z.string() });
const later = defineAction("later", { phase: "runEnd", payload: z.string() });
const unheard = defineAction("unheard", { phase: "stepEnd", payload: z.string() });
const mail = defineEffect("mail", { payload: z.object({ to: z.string() }) });
const lost = defineEffect("lost", { payload: z.string() });

function bench(onMail: (to: string, seen: number | undefined) => void | Promise<void> = () => {}) {
  const noted: string[] = [];
  const made = createBench({
    plugins: [
      plugin("p", (r) => {
        r.state(total);
        for (const action of [note, later]) {
          r.action(action, (text) => {
            noted.push(text);
          });
        }
        r.effect(mail, ({ to }, { state }) => onMail(to, state.get(total)));
      }),
    ],
  });
  return { ...made, noted, pending: () => (made.store.snapshot().get(pendingActions) ?? []).map((entry) => entry.action.payload) };
}

const start = command().update(runLifecycle, { type: "start", runId: runId("r1"), at: 1 });
const end = () => command().update(runLifecycle, { type: "done", termination: { type: "natural-end" }, at: 2 });

describe("command", () => {
  it("collects in order, knows when it is empty, and extends into a new one", () => {
    const left = command().update(total, 1).schedule(note, "a").emit(mail, { to: "x" });
    const right = command().update(total, 2).schedule(note, "b").emit(mail, { to: "y" }).from(4);
    const both = extendCommand(left, right);
    expect(both.updates.map(({ update }) => update)).toEqual([1, 2]);
    expect(both.actions.map(({ payload }) => payload)).toEqual(["a", "b"]);
    expect(both.effects.map(({ payload }) => payload)).toEqual([{ to: "x" }, { to: "y" }]);
    expect(both.baseRevision).toBe(4);
    expect([left.updates.length, right.updates.length, left.baseRevision]).toEqual([1, 1, undefined]);
    expect([command().isEmpty, command().from(1).isEmpty]).toEqual([true, true]);
    expect([command().update(total, 1), command().schedule(note, "a"), command().emit(mail, { to: "x" })].some((one) => one.isEmpty)).toBe(
      false,
    );
  });
});

describe("submit", () => {
  it("core-execution 18: an action without a handler refuses the command, and its updates are not committed", async () => {
    const { store, engine } = bench();
    const given = command().update(total, 1).schedule(note, "a").schedule(unheard, "b").emit(mail, { to: "x" });
    const error = await refusedBy(store, () => engine.submit(given));
    expect(error).toMatchObject({ code: "unknown_scheduled_action_handler", details: { key: "unheard" } });
    expect((await refusedBy(store, () => engine.check(given))).code).toBe("unknown_scheduled_action_handler");
  });

  it("core-execution 19: an effect without a handler refuses the command before it is committed", async () => {
    const sent: string[] = [];
    const { store, engine } = bench((to) => {
      sent.push(to);
    });
    const given = command().update(total, 1).emit(mail, { to: "x" }).emit(lost, "y");
    const error = await refusedBy(store, () => engine.submit(given));
    expect(error).toMatchObject({ code: "unknown_effect_handler", details: { key: "lost" } });
    expect((await refusedBy(store, () => engine.check(given))).code).toBe("unknown_effect_handler");
    expect(sent).toEqual([]);
  });

  it("core-execution 19: a failing effect is counted and logged, later ones still run, and the commit stays", async () => {
    const sent: string[] = [];
    const { store, engine, log } = bench(async (to, seen) => {
      await Promise.resolve();
      if (to === "bad") throw new Error("no such person");
      sent.push(`${to} at ${seen}`);
    });
    const given = command().update(total, 3).emit(mail, { to: "a" }).emit(mail, { to: "bad" }).emit(mail, { to: "b" });
    await engine.submit(given);
    expect(sent).toEqual(["a at 3", "b at 3"]);
    expect(engine.failedEffects).toBe(1);
    expect(log.errors).toEqual(["effect 'mail' failed: no such person"]);
    expect(store.snapshot().get(total)).toBe(3);
  });

  it("counts an effect whose payload does not fit, and does not call its handler", async () => {
    const sent: string[] = [];
    const { engine, log, store } = bench((to) => {
      sent.push(to);
    });
    const given = command().update(total, 1).emit(mail, { to: "a" });
    given.effects.unshift({ key: "mail", payload: { to: 5 } });
    await engine.submit(given);
    expect([sent, engine.failedEffects, store.snapshot().get(total)]).toEqual([["a"], 1, 1]);
    expect(log.errors[0]).toContain("payload does not fit: to: ");
  });

  it("runs effects one after the other, in the order of emission, after the commit", async () => {
    const seen: string[] = [];
    const { engine } = bench(async (to, value) => {
      seen.push(`${to} begins at ${value}`);
      await new Promise((resolve) => setTimeout(resolve, to === "slow" ? 5 : 0));
      seen.push(`${to} ends`);
    });
    await engine.submit(command().update(total, 1).emit(mail, { to: "slow" }).emit(mail, { to: "fast" }));
    expect(seen).toEqual(["slow begins at 1", "slow ends", "fast begins at 1", "fast ends"]);
  });

  it("commits updates and scheduled actions in one revision, with ids that rise", async () => {
    const { store, engine } = bench();
    await engine.submit(command().update(total, 1).schedule(note, "a").schedule(later, "b"));
    expect(store.revision).toBe(1);
    await engine.submit(command().schedule(note, "c"));
    expect(store.snapshot().get(pendingActions)).toEqual([
      { id: 1, action: { phase: "stepEnd", key: "note", payload: "a" } },
      { id: 2, action: { phase: "runEnd", key: "later", payload: "b" } },
      { id: 3, action: { phase: "stepEnd", key: "note", payload: "c" } },
    ]);
  });

  it("gives ids above all that a restored state holds, in the queue or among the failed", async () => {
    const { store, engine } = bench();
    const action = { phase: "stepEnd", key: "note", payload: "old" } as const;
    store.seed({
      schemaVersion: 1,
      revision: 0,
      extensions: {
        [pendingActions.name]: [{ id: 4, action }],
        [failedActions.name]: [{ id: 9, action, error: "then" }],
      },
    });
    await engine.submit(command().schedule(note, "new"));
    expect(
      store
        .snapshot()
        .get(pendingActions)
        ?.map((entry) => entry.id),
    ).toEqual([4, 10]);
  });

  it("refuses a stale command and a payload that is no JSON, and check says the same beforehand", async () => {
    const { store, engine } = bench();
    await engine.submit(command().update(total, 1));
    const stale = command().update(total, 1).schedule(note, "a").from(0);
    const odd = command().update(total, 1);
    odd.actions.push({ key: "note", phase: "stepEnd", payload: JSON.parse("1", () => new Map()) });
    for (const [given, code] of [
      [stale, "revision_conflict"],
      [odd, "key_encode"],
    ] as const) {
      expect((await refusedBy(store, () => engine.check(given))).code).toBe(code);
      expect((await refusedBy(store, () => engine.submit(given))).code).toBe(code);
    }
    engine.check(command().update(total, 1).schedule(note, "fine"));
    expect([store.snapshot().get(total), store.snapshot().get(pendingActions)]).toEqual([1, undefined]);
  });

  it("waits for the phase that runs, and failures do not block what comes after", async () => {
    const order: string[] = [];
    const { engine } = createBench({
      plugins: [
        plugin("p", (r) => {
          r.state(total);
          r.hook("stepStart", async () => {
            order.push("hook begins");
            await new Promise((resolve) => setTimeout(resolve, 5));
            order.push("hook ends");
          });
        }),
      ],
    });
    const phase = engine.run("stepStart", { step: 1 });
    const results = await Promise.allSettled([
      phase,
      engine.submit(command().schedule(unheard, "x")).catch((thrown: unknown) => {
        order.push("refused");
        throw thrown;
      }),
      engine.submit(command().update(total, 1)).then(() => order.push("committed")),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(order).toEqual(["hook begins", "hook ends", "refused", "committed"]);
  });
});

describe("a run that becomes done", () => {
  it("core-execution 22: drops what is pending, also what came with the same command", async () => {
    const { store, engine, pending, noted } = bench();
    await engine.submit(start);
    await engine.submit(command().schedule(note, "before"));
    expect(pending()).toEqual(["before"]);
    await engine.submit(end().schedule(later, "with it"));
    expect(pending()).toEqual([]);
    await engine.run("stepEnd", { step: 1 });
    await engine.run("runEnd", { termination: { type: "natural-end" } });
    expect(noted).toEqual([]);
    expect(store.snapshot().get(failedActions)).toBeUndefined();
  });

  it("still executes what its closing phases schedule, also when the closing step is counted afterwards", async () => {
    const { engine, pending, noted } = bench();
    await engine.submit(start);
    await engine.submit(end());
    await engine.submit(command().schedule(later, "goodbye"));
    await engine.submit(command().update(runLifecycle, { type: "step-completed", at: 3 }));
    expect(pending()).toEqual(["goodbye"]);
    await engine.run("runEnd", { termination: { type: "natural-end" } });
    expect([noted, pending()]).toEqual([["goodbye"], []]);
  });

  it("keeps the queue while the run only waits", async () => {
    const { engine, pending } = bench();
    await engine.submit(start);
    await engine.submit(command().schedule(note, "a").update(runLifecycle, { type: "set-waiting", reason: "suspended", at: 2 }));
    expect(pending()).toEqual(["a"]);
  });
});

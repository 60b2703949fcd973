import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { counter, createBench, plugin } from "../plugin/engine-bench.test-support.ts";
import { defineState } from "../state/key.ts";
import { command } from "./command.ts";

const RUNS = { numRuns: 250 };

/** Who wrote, and how many entries the writer had seen. */
const ledger = (name: string) =>
  defineState(name, {
    schema: z.array(z.object({ who: z.string(), saw: z.number() })),
    initial: (): { who: string; saw: number }[] => [],
    apply: (value, entry: { who: string; saw: number }) => [...value, entry],
  });

const ledgers = [ledger("l0"), ledger("l1"), ledger("l2")];
const totals = [counter("t0"), counter("t1"), counter("t2")];
const shared = counter("shared", "commutative");

/** A hook: which exclusive keys it changes, by how much, and how long it takes. */
const anyHook = fc.record({
  keys: fc.uniqueArray(fc.nat({ max: 2 }), { maxLength: 3 }),
  add: fc.integer({ min: -100, max: 100 }),
  turns: fc.nat({ max: 3 }),
});
/** Somebody outside the phase who commits while hooks run. */
const anyRival = fc.record({ key: fc.nat({ max: 2 }), add: fc.integer({ min: -100, max: 100 }), turns: fc.nat({ max: 3 }) });

type AnyHook = typeof anyHook extends fc.Arbitrary<infer T> ? T : never;

const pause = async (turns: number) => {
  for (let n = 0; n < turns; n++) await Promise.resolve();
};

function benchOf(hooks: readonly AnyHook[]) {
  return createBench({
    plugins: [
      plugin("keys", (r) => {
        for (const key of totals) r.state(key);
        for (const key of ledgers) r.state(key);
        r.state(shared);
        for (const [index, { keys, add, turns }] of hooks.entries()) {
          r.hook("stepStart", async ({ state }) => {
            const given = command().update(shared, add);
            const read = keys.map((key) => [key, ledgers[key], totals[key]] as const);
            const saw = read.map(([, list]) => (list === undefined ? 0 : (state.get(list)?.length ?? 0)));
            await pause(turns);
            for (const [at, [, list, total]] of read.entries()) {
              if (list !== undefined) given.update(list, { who: `h${index}`, saw: saw[at] ?? 0 });
              if (total !== undefined) given.update(total, add);
            }
            return given;
          });
        }
      }),
    ],
  });
}

const sumOf = (hooks: readonly AnyHook[], key: number) =>
  hooks.filter(({ keys }) => keys.includes(key)).reduce((sum, { add }) => sum + add, 0);

describe("gather, for any hooks", () => {
  it("equals some serial order: sums are preserved, and everybody saw exactly what was written before", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyHook, { maxLength: 6 }), async (hooks) => {
        const { engine, store } = benchOf(hooks);
        await engine.run("stepStart", { step: 1 });
        const state = store.snapshot();
        for (const [key, total] of totals.entries()) {
          const list = ledgers[key] === undefined ? [] : (state.get(ledgers[key]) ?? []);
          const writers = hooks.flatMap(({ keys }, index) => (keys.includes(key) ? [`h${index}`] : []));
          expect(state.get(total) ?? 0).toBe(sumOf(hooks, key));
          expect(list.map(({ who }) => who).sort()).toEqual(writers.sort());
          expect(list.map(({ saw }) => saw)).toEqual(list.map((_, index) => index));
        }
        expect(state.get(shared) ?? 0).toBe(hooks.reduce((sum, { add }) => sum + add, 0));
      }),
      RUNS,
    );
  });

  it("loses no update to commits from outside, and none of theirs", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyHook, { minLength: 1, maxLength: 4 }), fc.array(anyRival, { maxLength: 4 }), async (hooks, rivals) => {
        const { engine, store } = benchOf(hooks);
        const outside = rivals.map(async ({ key, add, turns }, index) => {
          await pause(turns);
          const [list, total] = [ledgers[key], totals[key]];
          if (list === undefined || total === undefined) return;
          const saw = store.snapshot().get(list)?.length ?? 0;
          store.commit(
            command()
              .update(list, { who: `r${index}`, saw })
              .update(total, add),
          );
        });
        await Promise.all([engine.run("stepStart", { step: 1 }), ...outside]);
        const state = store.snapshot();
        for (const [key, total] of totals.entries()) {
          const list = ledgers[key] === undefined ? [] : (state.get(ledgers[key]) ?? []);
          const fromRivals = rivals.filter((rival) => rival.key === key).reduce((sum, { add }) => sum + add, 0);
          expect(state.get(total) ?? 0).toBe(sumOf(hooks, key) + fromRivals);
          expect(list.map(({ saw }) => saw)).toEqual(list.map((_, index) => index));
        }
      }),
      RUNS,
    );
  });

  it("gives the same result whenever it is run on the same hooks", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyHook, { maxLength: 5 }), async (hooks) => {
        const results = await Promise.all(
          [benchOf(hooks), benchOf(hooks)].map(async ({ engine, store }) => {
            await engine.run("stepStart", { step: 1 });
            return store.export("full");
          }),
        );
        expect(results[0]).toEqual(results[1]);
      }),
      RUNS,
    );
  });
});

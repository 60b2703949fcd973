import { AwakenError, type JsonValue } from "@awaken/contract";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Command, command, extendCommand } from "../phase/command.ts";
import { counter, slot, storeOf } from "../plugin/engine-bench.test-support.ts";
import type { Batch } from "./batch.ts";
import { type AnyStateKey, defineState } from "./key.ts";
import { conflictingKey, mergeBatches } from "./merge.ts";

const RUNS = { numRuns: 300 };

const union = (name: string) =>
  defineState(name, {
    merge: "commutative",
    schema: z.array(z.number()),
    initial: (): number[] => [],
    apply: (value, add: number) => [...new Set([...value, add])].sort((a, b) => a - b),
  });
const highest = (name: string) =>
  defineState(name, {
    merge: "commutative",
    schema: z.number(),
    initial: () => Number.MIN_SAFE_INTEGER,
    apply: (value, seen: number) => Math.max(value, seen),
  });

const exclusive = [counter("e0"), counter("e1"), counter("e2")];
const commutative = [counter("c0", "commutative"), union("c1"), highest("c2"), union("c3")];
const strangers = [counter("s0"), counter("s1", "commutative")];
const broken = defineState("broken", {
  schema: z.number(),
  initial: () => 0,
  apply(value, update: number): number {
    if (update % 2 === 0) throw new Error("even");
    return value + update;
  },
});
const known: readonly AnyStateKey[] = [...exclusive, ...commutative, broken];

const ruleOf = (key: string) => storeOf(known).mergeRule(key);
const build = (updates: readonly (readonly [AnyStateKey, number])[], base?: number): Command => {
  const made = command();
  for (const [key, update] of updates) made.update(key, update);
  return base === undefined ? made : made.from(base);
};

const updatesOf = (keys: readonly AnyStateKey[]) =>
  fc.array(fc.tuple(fc.constantFrom(...keys), fc.integer({ min: -50, max: 50 })), { maxLength: 6 });
const anyCommand = fc
  .tuple(updatesOf([...exclusive, ...commutative, ...strangers]), fc.option(fc.constantFrom(0, 1), { nil: undefined, freq: 4 }))
  .map(([updates, base]) => build(updates, base));
const commuting = fc.array(updatesOf(commutative), { minLength: 1, maxLength: 6 });

/** The batch as plain data, or the code of what was thrown. */
function outcome(work: () => Batch) {
  try {
    const { updates, baseRevision } = work();
    return { updates: updates.map(({ key, update }) => [key.name, update]), baseRevision };
  } catch (thrown) {
    if (AwakenError.is(thrown)) return thrown.code;
    throw thrown;
  }
}

const merged = (all: readonly Batch[]): Batch => all.reduce((left, right) => mergeBatches(left, right, ruleOf), command());

describe("merge, for any commands", () => {
  it("is deterministic, and leaves its inputs alone", () => {
    fc.assert(
      fc.property(fc.array(anyCommand, { maxLength: 5 }), (all) => {
        const before = all.map((one) => outcome(() => one));
        expect(outcome(() => merged(all))).toEqual(outcome(() => merged(all)));
        expect(all.map((one) => outcome(() => one))).toEqual(before);
      }),
      RUNS,
    );
  });

  it("is associative where it succeeds, and succeeds on both ways or on none", () => {
    fc.assert(
      fc.property(anyCommand, anyCommand, anyCommand, (a, b, c) => {
        const left = outcome(() => mergeBatches(mergeBatches(a, b, ruleOf), c, ruleOf));
        const right = outcome(() => mergeBatches(a, mergeBatches(b, c, ruleOf), ruleOf));
        expect(typeof left).toBe(typeof right);
        if (typeof left !== "string") expect(left).toEqual(right);
      }),
      RUNS,
    );
  });

  it("succeeds exactly when no exclusive key is on both sides and the bases agree, and then it is the concatenation", () => {
    fc.assert(
      fc.property(anyCommand, anyCommand, (a, b) => {
        const names = (one: Command) => new Set(one.updates.map(({ key }) => key.name));
        const isClash = [...names(a)].some((name) => names(b).has(name) && ruleOf(name) === "exclusive");
        const isOffBase = a.baseRevision !== undefined && b.baseRevision !== undefined && a.baseRevision !== b.baseRevision;
        const result = outcome(() => mergeBatches(a, b, ruleOf));
        expect(conflictingKey(a, b, ruleOf) !== undefined).toBe(isClash);
        if (isOffBase) expect(result).toBe("mutation_base_revision_mismatch");
        else if (isClash) expect(result).toBe("parallel_merge_conflict");
        else expect(result).toEqual(outcome(() => extendCommand(a, b)));
      }),
      RUNS,
    );
  });

  it("equals serial application, in any order, for commutative keys", () => {
    const shuffled = commuting.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));
    fc.assert(
      fc.property(shuffled, ([all, order]) => {
        const together = storeOf(known);
        together.commit(merged(all.map((updates) => build(updates))));
        const serial = storeOf(known);
        for (const updates of order) serial.commit(build(updates));
        expect(together.export("full").extensions).toEqual(serial.export("full").extensions);
        expect(together.revision).toBeLessThanOrEqual(1);
      }),
      RUNS,
    );
  });

  it("equals serial application also for exclusive keys, in the order of the merge, whenever it succeeds", () => {
    fc.assert(
      fc.property(fc.array(updatesOf([...exclusive, ...commutative]), { maxLength: 4 }), (all) => {
        const parts = all.map((updates) => build(updates));
        if (typeof outcome(() => merged(parts)) === "string") return;
        const [together, serial] = [storeOf(known), storeOf(known)];
        together.commit(merged(parts));
        for (const part of parts) serial.commit(part);
        expect(together.export("full").extensions).toEqual(serial.export("full").extensions);
      }),
      RUNS,
    );
  });
});

describe("the store, for any history", () => {
  const tree = slot("tree", {
    initial: () => ({}),
    apply: (value, next) => (Array.isArray(next) ? { ...(typeof value === "object" ? value : {}), list: next } : next),
  });
  const json: fc.Arbitrary<JsonValue> = fc
    .jsonValue({ maxDepth: 3, noUnicodeString: false })
    .map((value) => JSON.parse(JSON.stringify(value)));

  it("never changes a snapshot, whatever is committed, registered or restored afterwards", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("commit", "restore", "seed", "register"), json), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(json, steps, (first, history) => {
        const store = storeOf([tree, exclusive[0] ?? counter("e0")]);
        store.commit(command().update(tree, first));
        const kept: { snapshot: ReturnType<typeof store.snapshot>; copy: unknown; revision: number }[] = [];
        const keep = () => {
          const snapshot = store.snapshot();
          kept.push({ snapshot, revision: snapshot.revision, copy: structuredClone(snapshot.get(tree)) });
        };
        const extra = counter("extra");
        keep();
        for (const [what, value] of history) {
          if (what === "restore") store.restore({ schemaVersion: 1, revision: store.revision, extensions: { tree: value } }, "skip");
          else if (what === "seed") store.seed({ schemaVersion: 1, revision: 0, extensions: { tree: value } });
          else if (what === "register") store.register([extra]);
          else store.commit(command().update(tree, value));
          keep();
        }
        for (const { snapshot, copy, revision } of kept) expect([snapshot.get(tree), snapshot.revision]).toEqual([copy, revision]);
      }),
      RUNS,
    );
  });

  it("keeps no trace of a commit that fails", () => {
    const poison = fc.constantFrom("throws", "stranger", "stale", "not JSON");
    fc.assert(
      fc.property(
        updatesOf([...exclusive, ...commutative]),
        updatesOf([...exclusive, ...commutative]),
        poison,
        fc.nat(),
        (before, batch, how, at) => {
          const store = storeOf([...known, tree]);
          store.commit(build(before));
          const state = structuredClone(store.export("full"));
          const snapshot = store.snapshot();
          let notices = 0;
          store.onCommit(() => {
            notices += 1;
          });
          const bad = build(batch);
          const [first] = strangers;
          if (how === "throws") bad.update(broken, 2);
          if (how === "stranger" && first !== undefined) bad.update(first, 1);
          if (how === "stale") bad.update(broken, 1).from(store.revision + 1);
          if (how === "not JSON")
            bad.update(
              tree,
              JSON.parse("{}", () => new Map()),
            );
          const [moved] = bad.updates.splice(-1);
          if (moved !== undefined) bad.updates.splice(at % (bad.updates.length + 1), 0, moved);
          expect(() => store.commit(bad)).toThrow(AwakenError);
          expect(store.export("full")).toEqual(state);
          expect(store.snapshot()).toBe(snapshot);
          expect(notices).toBe(0);
          for (const { name } of known) expect(store.isChangedSince(name, snapshot.revision)).toBe(false);
        },
      ),
      RUNS,
    );
  });

  it("gives back what it exported", () => {
    fc.assert(
      fc.property(json, updatesOf([...exclusive, ...commutative]), (value, updates) => {
        const store = storeOf([...known, tree]);
        store.commit(build(updates).update(tree, value));
        const again = storeOf([...known, tree]);
        again.restore(JSON.parse(JSON.stringify(store.export("full"))), "error");
        expect(again.export("full")).toEqual(store.export("full"));
      }),
      RUNS,
    );
  });
});

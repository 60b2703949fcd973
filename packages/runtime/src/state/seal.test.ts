import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { counter, refusedBy, storeOf } from "../plugin/engine-bench.test-support.ts";
import { defineState } from "./key.ts";

const anything = (name: string, persistent: boolean) =>
  defineState(name, { schema: z.any(), initial: () => null, apply: (_, next: unknown) => next, persistent });

const stored = anything("stored", true);
const local = anything("local", false);
const count = counter("count");

function filled() {
  const store = storeOf([stored, local, count]);
  store.commit(command().update(stored, { ok: true }).update(count, 1));
  return store;
}

const nested = (depth: number): unknown => {
  let value: unknown = "leaf";
  for (let n = 0; n < depth; n++) value = n % 2 === 0 ? { v: value } : [value];
  return value;
};

const cycle = (): unknown => {
  const value: Record<string, unknown> = { deep: {} };
  value["deep"] = { self: value };
  return value;
};

class Money {
  readonly cents = 1;
}

describe("a persistent value", () => {
  const bad: readonly (readonly [string, unknown, string])[] = [
    ["a Map", new Map([[1, 2]]), ""],
    ["a Set in an object", { tags: new Set(["a"]) }, "tags"],
    ["a Date in a list", { at: [new Date(0)] }, "at.0"],
    ["NaN", Number.NaN, ""],
    ["Infinity", { n: [1, Number.POSITIVE_INFINITY] }, "n.1"],
    ["a function", { fn: () => 1 }, "fn"],
    ["a bigint", { n: 1n }, "n"],
    ["a symbol", Symbol("s"), ""],
    ["an instance of a class", { a: { b: new Money() } }, "a.b"],
    ["undefined in a list", [1, undefined], "1"],
    // biome-ignore lint/suspicious/noSparseArray: that is what is tested
    ["a hole in a list", [1, , 3], "1"],
    ["a promise", Promise.resolve(1), ""],
  ];

  for (const [name, value, path] of bad) {
    it(`refuses ${name} and says where`, async () => {
      const store = filled();
      const error = await refusedBy(store, () => store.commit(command().update(count, 1).update(stored, value)));
      expect(error).toMatchObject({ code: "key_encode", details: { key: "stored", path } });
    });
  }

  it("refuses a cycle and 10,000 levels, with a path of a length that one can read", async () => {
    const store = filled();
    for (const value of [cycle(), nested(10_000)]) {
      const error = await refusedBy(store, () => store.commit(command().update(count, 1).update(stored, value)));
      expect(error).toMatchObject({ code: "key_encode", details: { key: "stored" } });
      expect(error.message.length).toBeLessThan(400);
      expect(error.message).toContain("nested too deeply, or in a cycle,");
    }
  });

  it("refuses an initial value that is no JSON", async () => {
    const odd = defineState("odd", { schema: z.any(), initial: () => new Map(), apply: () => 1 });
    const store = storeOf([odd, count]);
    expect(await refusedBy(store, () => store.commit(command().update(odd, 0)))).toMatchObject({ code: "key_encode" });
  });

  it("takes 500 levels, null, literals without a prototype, and properties that are undefined", () => {
    const store = filled();
    const bare: object = Object.assign(Object.create(null), { a: 1 });
    for (const value of [nested(500), null, bare, { a: undefined, b: 1 }, "", 0, false, [], {}]) {
      store.commit(command().update(stored, value));
      expect(store.snapshot().get(stored)).toBe(value);
    }
  });

  it("takes literals of another realm", async () => {
    const { runInNewContext } = await import("node:vm");
    const store = filled();
    store.commit(command().update(stored, runInNewContext("({ a: [1, { b: 2 }] })")));
    expect(JSON.stringify(store.export("full").extensions["stored"])).toBe('{"a":[1,{"b":2}]}');
  });

  it("is frozen to the bottom, however it came in", () => {
    const store = filled();
    const shallow = Object.freeze({ list: [{ n: 1 }] });
    store.commit(command().update(stored, shallow));
    expect(Object.isFrozen(shallow.list)).toBe(true);
    expect(Object.isFrozen(shallow.list[0])).toBe(true);
    expect(() => shallow.list.push({ n: 2 })).toThrow(TypeError);
  });

  it("is checked even if a key that is not persistent had it before", async () => {
    const store = filled();
    const value = { when: new Date(0) };
    store.commit(command().update(local, value));
    expect((await refusedBy(store, () => store.commit(command().update(stored, value)))).code).toBe("key_encode");
  });
});

describe("a value that is not persistent", () => {
  it("may be anything, and what is plain in it is frozen to the bottom", () => {
    const store = filled();
    const shallow = Object.freeze({ list: [{ n: 1 }], map: new Map() });
    store.commit(command().update(local, shallow));
    expect(() => shallow.list.push({ n: 2 })).toThrow(TypeError);
    expect(Object.isFrozen(shallow.list[0])).toBe(true);
    for (const value of [new Map(), new Date(0), () => 1, Number.NaN, new Money(), Symbol("s"), nested(10_000)]) {
      store.commit(command().update(local, value));
      expect(store.snapshot().get(local)).toBe(value);
    }
    expect(store.export("full").extensions).not.toHaveProperty("local");
  });

  it("may hold a cycle and very long lists", () => {
    const store = filled();
    const value = cycle();
    store.commit(command().update(local, value));
    expect(Object.isFrozen(value)).toBe(true);
    store.commit(command().update(local, new Array(300_000).fill(0)));
  });
});

/** Counts how often the insides of a value are looked at. */
function watched(): { readonly value: object; readonly reads: () => number } {
  let reads = 0;
  const value = new Proxy(
    { n: 1 },
    {
      get(target, name, receiver) {
        reads += 1;
        return Reflect.get(target, name, receiver);
      },
    },
  );
  return { value, reads: () => reads };
}

describe("what an update shares with the value before it", () => {
  it("is not visited again, in an object and in a list to which something is added or from which something is taken", () => {
    const store = filled();
    const { value, reads } = watched();
    store.commit(command().update(stored, { value, list: [1, value, 3], other: 0 }));
    const once = reads();
    expect(once).toBeGreaterThan(0);
    for (const list of [[1, value, 3, 4], [0, 1, value, 3, 4], [1, value, 3, 4], [value, 3, 4], [value]]) {
      store.commit(command().update(stored, { value, list, other: list.length }));
    }
    expect(reads()).toBe(once);
  });

  it("is visited once when it has many places", () => {
    const store = filled();
    const { value, reads } = watched();
    store.commit(command().update(stored, { value }));
    const once = reads();
    store.commit(command().update(stored, { a: value, b: [value, value], c: { d: value } }));
    expect(reads()).toBe(2 * once);
    let shared: object = { leaf: 1 };
    for (let n = 0; n < 60; n++) shared = { left: shared, right: [shared] };
    store.commit(command().update(stored, shared));
  });

  it("never hides what is wrong, wherever an update puts it, and all of a good one is frozen", () => {
    const item = fc.oneof(
      fc.integer(),
      fc.record({ n: fc.integer(), tags: fc.array(fc.string(), { maxLength: 2 }) }),
      fc.array(fc.integer()),
    );
    const edit = fc.record({ from: fc.nat({ max: 8 }), remove: fc.nat({ max: 3 }), insert: fc.array(item, { maxLength: 3 }) });
    const poison = fc.constantFrom(Number.NaN, undefined, new Date(0), () => 1, { deep: [new Map()] }, [1n]);
    const isDeepFrozen = (value: unknown): boolean =>
      typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen));
    const edited = (list: readonly unknown[], { from, remove, insert }: { from: number; remove: number; insert: readonly unknown[] }) =>
      list.toSpliced(from, remove, ...insert);
    fc.assert(
      fc.property(
        fc.array(item, { maxLength: 8 }),
        fc.array(edit, { maxLength: 4 }),
        poison,
        fc.nat({ max: 8 }),
        (first, edits, bad, at) => {
          const store = storeOf([stored]);
          let list: readonly unknown[] = first;
          store.commit(command().update(stored, { list, map: { ...list } }));
          for (const one of edits) {
            list = edited(list, one);
            store.commit(command().update(stored, { list, map: { ...list } }));
            expect(isDeepFrozen(store.snapshot().get(stored))).toBe(true);
          }
          const wrong = edited(list, { from: at, remove: 0, insert: [bad] });
          expect(() => store.commit(command().update(stored, { list: wrong, map: {} }))).toThrow("is not plain JSON");
          if (bad !== undefined)
            expect(() => store.commit(command().update(stored, { list, map: { ...wrong } }))).toThrow("is not plain JSON");
          expect(store.snapshot().get(stored)).toEqual({ list, map: { ...list } });
        },
      ),
      { numRuns: 300 },
    );
  });
});

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

describe("the cost of sealing", () => {
  it("is paid once: what an update shares with the value before it is not visited again", () => {
    let reads = 0;
    const watched = new Proxy(
      { n: 1 },
      {
        get(target, name, receiver) {
          reads += 1;
          return Reflect.get(target, name, receiver);
        },
      },
    );
    const store = filled();
    const first = { watched, other: 0 };
    store.commit(command().update(stored, first));
    const once = reads;
    expect(once).toBeGreaterThan(0);
    for (let n = 1; n < 50; n++) store.commit(command().update(stored, { ...first, other: n }));
    expect(reads).toBe(once);
  });
});

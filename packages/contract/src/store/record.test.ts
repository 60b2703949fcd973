import { describe, expect, test } from "vitest";
import * as z from "zod";
import { AwakenError } from "../error.ts";
import type { ErrorCode } from "../error-table.ts";
import { type JsonObject, sameJson } from "../json.ts";
import { clampLimit } from "./clamp-limit.ts";
import { defineRecord } from "./record.ts";

const codeOf = (work: () => unknown): ErrorCode | undefined => {
  try {
    work();
    return undefined;
  } catch (thrown) {
    return AwakenError.is(thrown) ? thrown.code : "internal";
  }
};

const kind = defineRecord({
  name: "note",
  version: 3,
  schema: z.strictObject({ schemaVersion: z.literal(3), text: z.string(), any: z.unknown().optional() }),
  migrations: {
    1: ({ body, ...old }: JsonObject) => ({ ...old, words: body ?? "" }),
    2: ({ words, ...old }: JsonObject) => ({ ...old, text: words ?? "" }),
  },
});

describe("read", () => {
  test("migrates step by step from each older version", () => {
    expect(kind.read({ schemaVersion: 1, body: "hi" }, "k")).toEqual({ schemaVersion: 3, text: "hi" });
    expect(kind.read({ schemaVersion: 2, words: "hi" }, "k")).toEqual({ schemaVersion: 3, text: "hi" });
    expect(kind.read({ schemaVersion: 3, text: "hi" }, "k")).toEqual({ schemaVersion: 3, text: "hi" });
  });

  test("does not touch the row that it was given", () => {
    const row = Object.freeze({ schemaVersion: 1, body: "hi" });
    kind.read(row, "k");
    expect(row).toEqual({ schemaVersion: 1, body: "hi" });
  });

  test("names the row when it is corrupt", () => {
    expect(() => kind.read({ schemaVersion: 3, text: 1 }, "t1/7")).toThrow(/note 't1\/7'/);
    for (const row of [
      undefined,
      null,
      "x",
      [],
      {},
      { schemaVersion: "1" },
      { schemaVersion: 0 },
      { schemaVersion: 1.5 },
      { schemaVersion: 3 },
    ]) {
      expect(codeOf(() => kind.read(row, "k"))).toBe("storage_corrupt");
    }
    expect(codeOf(() => kind.read({ schemaVersion: 3, text: "", more: 1 }, "k"))).toBe("storage_corrupt");
  });

  test("a migration that throws or is missing is a corrupt row, with the cause", () => {
    const cause = new Error("boom");
    const broken = defineRecord({
      ...{ name: "note", version: 3, schema: z.unknown() },
      migrations: {
        2: () => {
          throw cause;
        },
      },
    });
    expect(() => broken.read({ schemaVersion: 2 }, "k")).toThrow(expect.objectContaining({ code: "storage_corrupt", cause }));
    expect(codeOf(() => broken.read({ schemaVersion: 1 }, "k"))).toBe("storage_corrupt");
  });

  test("a newer version is not read at all", () => {
    expect(codeOf(() => kind.read({ schemaVersion: 4, text: "hi" }, "k"))).toBe("storage_too_new");
  });
});

describe("check", () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];

  test.each([
    ["NaN", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a class instance", new (class Point {})()],
    ["an undefined item", [1, undefined]],
    ["a hole", new Array(1)],
    ["a list with a toJSON", Object.assign([], { toJSON: () => 1 })],
    ["a circle", circle],
    ["100,000 levels", deep],
  ])("refuses %s", (_, any) => {
    expect(codeOf(() => kind.check({ schemaVersion: 3, text: "", any: { list: [any] } }))).toBe("storage_validation");
  });

  test("takes objects without a prototype, as some engines return them", () => {
    const bare: unknown = Object.assign(Object.create(null), { a: 1 });
    expect(codeOf(() => kind.check({ schemaVersion: 3, text: "", any: bare }))).toBeUndefined();
  });

  test("an older version cannot be written", () => {
    expect(codeOf(() => kind.check({ schemaVersion: 2, words: "hi" }))).toBe("storage_validation");
  });
});

describe("sameJson", () => {
  test.each([
    [{ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }, true],
    [{ a: undefined }, {}, true],
    [{ a: 1 }, { a: 1, b: undefined }, true],
    [{ a: 1 }, { b: 1 }, false],
    [{ a: undefined, b: 1 }, { a: 1, b: undefined }, false],
    [[1, 2], [2, 1], false],
    [[], {}, false],
    [null, {}, false],
    [1, "1", false],
    [{ toString: 1 }, {}, false],
    [{}, { toString: 1 }, false],
  ])("%j and %j: %s", (a, b, expected) => {
    expect(sameJson(a, b)).toBe(expected);
  });
});

test("a limit is clamped to 1 to 200", () => {
  expect([undefined, 0, -5, 1, 50.9, 200, 999, Number.POSITIVE_INFINITY, Number.NaN].map((limit) => clampLimit(limit))).toEqual([
    50, 1, 1, 1, 50, 200, 200, 200, 50,
  ]);
});

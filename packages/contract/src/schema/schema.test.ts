import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, expectTypeOf, it } from "vitest";
import { toJsonSchema, validateSync } from "../schema.ts";
import * as s from "./all.ts";

/** What is read, or what is said against it. */
function read(type: s.Type, value: unknown): unknown {
  const result = validateSync(type, value);
  return result.type === "valid" ? result.value : result.message;
}

describe("values", () => {
  it.each([
    [s.string(), "a", 1, "must be a string, got a number"],
    [s.number(), 1.5, Number.NaN, "must be a finite number, got NaN"],
    [s.int(), 3, 1.5, "must be an integer, got 1.5"],
    [s.int(), 0, "3", "must be an integer, got a string"],
    [s.int(), -1, 2 ** 53, "must be an integer, got 9007199254740992"],
    [s.boolean(), false, null, "must be true or false, got null"],
    [s.literal("a"), "a", "b", "must be 'a', got 'b'"],
    [s.enum(["a", "b"]), "b", [], "must be one of 'a', 'b', got an array"],
    [s.enum(["a", "b"]), "a", undefined, "is required: expected one of 'a', 'b'"],
    [s.custom<1>((value) => value === 1, "only one"), 1, 2, "only one"],
    [
      s.custom<1>(
        (value) => value === 1,
        (value) => s.expected("one", value),
      ),
      1,
      {},
      "must be one, got an object",
    ],
    [
      s.json(),
      { a: [1, null, "x"] },
      { a: [1, () => 1] },
      "a.1: must be a string or a finite number or true or false or an array or an object, got a function",
    ],
  ])("%#: takes what fits and says what does not", (type, good, bad, text) => {
    expect(read(type, good)).toEqual(good);
    expect(read(type, bad)).toBe(text);
  });

  it("never shows a value that may be a secret, and cuts what it shows", () => {
    expect(read(s.number(), "sk-secret")).not.toContain("sk-secret");
    expect(read(s.enum(["a"]), "x".repeat(500))).toBe(`must be 'a', got '${"x".repeat(80)}…'`);
  });
});

describe("checks", () => {
  it("are all asked, in order, once the type is right", () => {
    const even = s.refine<number>((value) => value % 2 === 0, "not even");
    const type = s.int().check(s.atLeast(0), s.atMost(10), even);
    expect(read(type, 4)).toBe(4);
    expect(read(type, -3)).toBe("must be at least 0, got -3; not even");
    expect(read(type, 11)).toBe("must be at most 10, got 11; not even");
    expect(read(type, "x")).toBe("must be an integer, got a string");
  });

  it("see what the ones before them made of the text", () => {
    const type = s.string().check(s.trim(), s.toLowerCase(), s.notBlank());
    expect(read(type, " Ab ")).toBe("ab");
    expect(read(type, "  ")).toBe("cannot be empty");
  });

  it("may report several issues, each at its place", () => {
    const type = s.object({ a: s.int(), b: s.int() }).check(
      s.rule(({ a, b }, report) => {
        if (a > b) report(s.problem("is above b", ["a"]));
        if (a + b > 9) report(s.message("too much"));
      }),
    );
    expect(read(s.object({ pair: type }), { pair: { a: 9, b: 1 } })).toBe("pair.a: is above b; pair: too much");
  });

  it("are not asked about a value with broken parts", () => {
    const type = s.object({ a: s.int() }).check(
      s.rule(() => {
        throw new Error("asked");
      }),
    );
    expect(read(type, { a: "x" })).toBe("a: must be an integer, got a string");
  });

  it("leave the type that they are added to as it was", () => {
    const plain = s.int();
    plain.check(s.positive());
    expect(read(plain, -1)).toBe(-1);
  });
});

describe("objects", () => {
  const fields = { a: s.int(), b: s.exactOptional(s.string()), c: s.withDefault(s.int(), 7) };

  it("know which fields may be left out", () => {
    expect(read(s.object(fields), { a: 1 })).toEqual({ a: 1, c: 7 });
    expect(read(s.object(fields), {})).toBe("a: is required: expected an integer");
    expect(read(s.object(fields), { a: 1, b: undefined })).toBe("b: is required: expected a string");
    expectTypeOf<s.output<s.ObjectType<typeof fields>>>().toEqualTypeOf<{ a: number; b?: string; c: number }>();
    expectTypeOf<s.input<s.ObjectType<typeof fields>>>().toEqualTypeOf<{ a: number; b?: string; c?: number | undefined }>();
  });

  it("drop, refuse or read the fields that they do not name", () => {
    const given = { a: 1, x: 2, y: "z" };
    expect(read(s.object(fields), given)).toEqual({ a: 1, c: 7 });
    expect(read(s.strictObject(fields), given)).toBe("x: is an unknown field; y: is an unknown field");
    expect(read(s.openObject(fields, s.int()), given)).toBe("y: must be an integer, got a string");
    expect(read(s.openObject(fields, s.json()), given)).toEqual({ ...given, c: 7 });
  });

  it("of which each field may be left out are still strict", () => {
    const type = s.partialObject(fields);
    expect(read(type, {})).toEqual({});
    expect(read(type, { a: undefined })).toEqual({ a: undefined });
    expect(read(type, { a: "x", z: 1 })).toBe("a: must be an integer, got a string; z: is an unknown field");
  });

  it("and records never set a prototype", () => {
    const hostile: unknown = JSON.parse('{"__proto__": {"polluted": true}, "a": {"polluted": 1}}');
    const result = read(s.record(s.json()), hostile);
    expect(result).toEqual({ a: { polluted: 1 } });
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(read(s.openObject({}, s.json()), hostile))).toBe(Object.prototype);
    expect(read(s.strictObject({}), JSON.parse('{"__proto__": 1}'))).toBe("__proto__: is an unknown field");
  });

  it.each([null, [], "x", 1, undefined])("are not %j", (value) => {
    expect(read(s.object({}), value)).toMatch(/expected an object|must be an object/);
    expect(read(s.record(s.int()), value)).toMatch(/expected an object|must be an object/);
    expect(read(s.taggedUnion("type", [s.object({ type: s.literal("a") })]), value)).toMatch(/an object/);
  });

  it("are copies", () => {
    const given = { list: [{ a: 1 }] };
    const result = read(s.object({ list: s.array(s.object({ a: s.int() })) }), given);
    expect(result).toEqual(given);
    expect(result).not.toBe(given);
  });
});

describe("unions", () => {
  const effort = s.union([s.enum(["low", "high"]), s.strictObject({ budget: s.int() })]);
  const shape = s.taggedUnion("type", [
    s.strictObject({ type: s.literal("dot") }),
    s.strictObject({ type: s.literal("circle"), radius: s.number() }),
  ]);

  it("tell of the branch that was meant, or of all", () => {
    expect(read(effort, "low")).toBe("low");
    expect(read(effort, { budget: 3 })).toEqual({ budget: 3 });
    expect(read(effort, { budget: "x" })).toBe("budget: must be an integer, got a string");
    expect(read(effort, "huge")).toBe("must be one of 'low', 'high' or an object, got 'huge'");
    expect(read(effort, undefined)).toBe("is required: expected one of 'low', 'high' or an object");
  });

  it("with a tag look at one branch only", () => {
    expect(read(shape, { type: "circle", radius: 1 })).toEqual({ type: "circle", radius: 1 });
    expect(read(shape, { type: "circle" })).toBe("radius: is required: expected a finite number");
    expect(read(shape, { type: "box" })).toBe("type: must be one of 'dot', 'circle', got 'box'");
    expect(read(shape, {})).toBe("type: must be one of 'dot', 'circle', got nothing");
    expectTypeOf<s.output<typeof shape>>().toEqualTypeOf<{ type: "dot" } | { type: "circle"; radius: number }>();
  });
});

describe("records", () => {
  it("leave nothing behind of the names that they were asked about", () => {
    setFlagsFromString("--expose-gc");
    const gc: unknown = runInNewContext("gc");
    const heap = (): number => {
      if (typeof gc === "function") gc();
      return process.memoryUsage().heapUsed;
    };
    const type = s.record(s.int());
    const ask = (count: number) => type.fits(Object.fromEntries(Array.from({ length: count }, (_, at) => [`name ${at}`, at])), 0);
    expect(ask(10)).toBe(true);
    const before = heap();
    expect(ask(100_000)).toBe(true);
    expect(heap() - before).toBeLessThan(2_000_000);
    expect(type.fits(JSON.parse('{"a": 1, "__proto__": 2}'), 0)).toBe(false);
  });
});

describe("wrappers", () => {
  it("fill in what is missing, each time anew", () => {
    const type = s.object({
      list: s.withDefault(s.array(s.int()), []),
      inner: s.withDefault(s.object({ a: s.withDefault(s.int(), 1) }), {}),
    });
    const first = read(type, {});
    expect(first).toEqual({ list: [], inner: { a: 1 } });
    const second = read(type, {});
    expect(first).toEqual(second);
    expect(first).not.toBe(second);
    expect(Object(first).list).not.toBe(Object(second).list);
    expect(read(type, { list: null })).toBe("list: must be an array, got null");
  });

  it("take null, change, narrow and hand on what was read, and nothing that was not", () => {
    expect(read(s.nullable(s.int()), null)).toBeNull();
    const length = s.transform(s.string(), (text) => text.length);
    expect(read(length, "abc")).toBe(3);
    expect(read(length, 3)).toBe("must be a string, got a number");
    const choice = s.pipe(s.string().check(s.toLowerCase()), s.enum(["a"]));
    expect(read(choice, "A")).toBe("a");
    expect(read(choice, "B")).toBe("must be 'a', got 'b'");
    const some = s.narrow(s.nullable(s.string()), (value) => value !== null, "not null");
    expect(read(some, "x")).toBe("x");
    expect(read(some, null)).toBe("not null");
    expectTypeOf<s.output<typeof some>>().toEqualTypeOf<string>();
  });
});

describe("JSON Schema", () => {
  it("says what may be given", () => {
    const type = s.strictObject({
      name: s.string().check(s.notBlank(), s.meta({ title: "Name" })),
      size: s.withDefault(s.int().check(s.atLeast(1), s.atMost(9)), 3),
      note: s.exactOptional(s.nullable(s.string())),
      list: s.nullable(s.array(s.enum(["a"]))),
      more: s.record(s.boolean()),
      any: s.json(),
      kind: s.union([s.literal("x"), s.number().check(s.positive())]),
    });
    expect(toJsonSchema(type)).toEqual({
      type: "object",
      additionalProperties: false,
      required: ["name", "list", "more", "any", "kind"],
      properties: {
        name: { type: "string", pattern: "\\S", title: "Name" },
        size: { type: "integer", minimum: 1, maximum: 9, default: 3 },
        note: { type: ["string", "null"] },
        list: { anyOf: [{ type: "array", items: { type: "string", enum: ["a"] } }, { type: "null" }] },
        more: { type: "object", additionalProperties: { type: "boolean" } },
        any: {},
        kind: { anyOf: [{ const: "x" }, { type: "number", exclusiveMinimum: 0 }] },
      },
    });
  });
});

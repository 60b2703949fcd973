import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import * as z from "zod";
import type { JsonObject, JsonValue } from "../json.ts";
import { toJsonSchema } from "../schema.ts";
import { checkJson } from "./index.ts";
import { compilePattern } from "./pattern.ts";

const problem = (schema: JsonObject, value: unknown): string | undefined => {
  const checked = checkJson(schema, value);
  return checked.type === "invalid" ? checked.message : undefined;
};

type Row = readonly [schema: JsonObject, fitting: readonly JsonValue[], other: readonly JsonValue[]];

const ROWS: readonly Row[] = [
  [{ type: "string" }, ["", "a"], [1, null, [], {}]],
  [{ type: "integer" }, [1, 1.0, -2], [1.5, "1", null]],
  [{ type: ["string", "null"] }, ["a", null], [1, false]],
  [{ type: "string", nullable: true }, ["a", null], [1]],
  [{ type: "of-tomorrow" }, [1, "a"], []],
  [{ enum: [1, "a", { b: [2] }] }, [1, "a", { b: [2] }], [2, { b: 2 }, null]],
  [{ const: null }, [null], [0, "", false]],
  [{ minLength: 2, maxLength: 3 }, ["ab", "😀😀", 7], ["a", "abcd", "😀"]],
  [{ pattern: "^a+$" }, ["a", "aa", 3], ["", "ba"]],
  [{ minimum: 1, maximum: 3 }, [1, 3, "x"], [0.9, 3.1]],
  [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [1.1, 2.9], [1, 3]],
  [{ minimum: 1, exclusiveMinimum: true }, [1.1], [1, 0]],
  [{ multipleOf: 0.01 }, [0.07, 19.99, 1e300], [0.015]],
  [{ items: { type: "number" }, minItems: 1, maxItems: 2 }, [[1], [1, 2], "x"], [[], [1, 2, 3], ["a"]]],
  [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, [["a", 1, 2], [], ["a"]], [[1], ["a", "b"]]],
  [{ items: [{ type: "string" }], additionalItems: false }, [["a"], []], [["a", 1], [1]]],
  [
    { uniqueItems: true },
    [[1, "1", { a: 1, b: 2 }]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [1, 1],
    ],
  ],
  [{ contains: { const: 1 }, minContains: 2, maxContains: 2 }, [[1, 0, 1]], [[1], [1, 1, 1]]],
  [{ properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }, [{ a: "" }], [{}, { a: 1 }, { a: "", b: 1 }]],
  [
    { patternProperties: { "^n_": { type: "number" } }, additionalProperties: { type: "string" } },
    [{ n_a: 1, b: "c" }],
    [{ n_a: "1" }, { b: 1 }],
  ],
  [{ propertyNames: { pattern: "^[a-z]+$" }, minProperties: 1, maxProperties: 2 }, [{ a: 1 }], [{ A: 1 }, {}, { a: 1, b: 1, c: 1 }]],
  [{ required: ["toString", "__proto__"] }, [JSON.parse('{"toString":1,"__proto__":2}')], [{}, { toString: 1 }]],
  [{ properties: { a: {} }, dependentRequired: { a: ["b"] } }, [{ a: 1, b: 2 }, {}], [{ a: 1 }]],
  [
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    [
      { a: 1, b: 2 },
      { c: 1, d: 2 },
    ],
    [{ a: 1 }, { c: 1 }],
  ],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
  [{ anyOf: [{ type: "string" }, { minimum: 5 }] }, ["a", 5], [1]],
  [{ oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, [2, 3], [6, 1]],
  [{ not: { type: "string" } }, [1], ["a"]],
  [JSON.parse('{"if":{"type":"string"},"then":{"minLength":2},"else":{"type":"number"}}'), ["ab", 1], ["a", null]],
  [{ properties: { child: { $ref: "#" } }, additionalProperties: false }, [{}, { child: { child: {} } }], [{ child: { x: 1 } }]],
  [{ $ref: "#/$defs/a~1b%25", $defs: { "a/b%": { type: "string" } } }, ["x"], [1]],
  [{ $ref: "#name", $defs: { x: { $anchor: "name", type: "string" } } }, ["x"], [1]],
  [{ $id: "https://a.example/root", $ref: "other", $defs: { o: { $id: "other", type: "string" } } }, ["x"], [1]],
  [
    { $schema: "http://json-schema.org/draft-07/schema#", $ref: "#/definitions/a", maximum: 1, definitions: { a: { type: "number" } } },
    [5],
    ["a"],
  ],
  [{ $ref: "#/$defs/a", maximum: 1, $defs: { a: { type: "number" } } }, [1], [5, "a"]],
  [{ allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, [{ a: 1 }], [{ a: 1, b: 2 }]],
  [{ prefixItems: [{}], anyOf: [{ prefixItems: [{}, { const: 2 }] }, {}], unevaluatedItems: false }, [[1], [1, 2]], [[1, 3]]],
  [{ format: "email", contentEncoding: "base64" }, ["no address"], []],
];

test.each(ROWS)("%j", (schema, fitting, other) => {
  for (const value of fitting) expect(problem(schema, value), JSON.stringify(value)).toBeUndefined();
  for (const value of other) expect(problem(schema, value), JSON.stringify(value)).toEqual(expect.any(String));
});

describe("what it says", () => {
  it("names the place and what was expected", () => {
    const order = { type: "object", properties: { lines: { items: { properties: { amount: { type: "number" } }, required: ["sku"] } } } };
    expect(problem(order, { lines: [{ sku: 1, amount: 2 }, { amount: "2" }] })).toBe(
      "lines.1: 'sku' is missing; lines.1.amount: must be number, got string",
    );
    expect(problem({ anyOf: [{ type: "string" }, { properties: { a: { const: 1 } } }] }, { a: 2 })).toBe(
      "fits none of 2 forms (must be string, got object; or a: must be 1)",
    );
  });

  it("does not list a thousand problems", () => {
    expect(problem({ items: { type: "string" } }, new Array(1_000).fill(1))).toMatch(/; and 995 more$/);
  });

  it.each([[undefined], [1n], [new Map()], [() => 1], [Number.NaN]])("%s is not JSON", (value) => {
    expect(problem({}, value)).toBe("it is not JSON");
  });
});

describe("a hostile schema comes to an end", () => {
  const doubling: Record<string, JsonObject> = { d0: { type: "string" } };
  for (let n = 1; n <= 60; n++) doubling[`d${n}`] = { anyOf: [{ $ref: `#/$defs/d${n - 1}` }, { $ref: `#/$defs/d${n - 1}` }] };

  it.each<[string, JsonObject, JsonValue, RegExp]>([
    ["a pattern that backtracks", { pattern: "^(a+)+$" }, `${"a".repeat(50_000)}!`, /must match/],
    ["one that backtracks behind a choice", { pattern: "^(a|a)*b(?=c)$" }, "a".repeat(50_000), /must match/],
    ["a look-ahead at every place", { pattern: "((?=(.*x))a)*y" }, "a".repeat(20_000), /too many steps/],
    [
      "a name pattern that backtracks",
      { patternProperties: { "(x+x+)+y": false }, additionalProperties: false },
      { ["x".repeat(5_000)]: 1 },
      /must not/,
    ],
    ["a ref to itself", { $ref: "#" }, 1, /refers to itself/],
    ["two refs to each other", { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }, 1, /refers to itself/],
    ["2 to the 60 ways", { $ref: "#/$defs/d60", $defs: doubling }, 1, /too many steps/],
    ["a ref to nowhere", { $ref: "https://example.com/x" }, 1, /'https:\/\/example.com\/x', which it does not have/],
    ["a pattern that is none", { pattern: "(" }, "x", /must match/],
  ])("%s", (_, schema, value, message) => {
    expect(problem(schema, value)).toMatch(message);
  });

  it("a place inside of a word", () => {
    expect(problem({ pattern: "a\\Bb" }, "ab")).toBeUndefined();
    expect(problem({ pattern: "a\\B" }, "a b")).toBe("must match a\\B");
  });

  it("a pattern that only the native engine can match is not checked", () => {
    expect(problem({ pattern: "^(.)\\1$" }, "ab")).toBeUndefined();
    expect(problem({ pattern: "(?<=a)b" }, "cb")).toBeUndefined();
    expect(problem({ pattern: "((a{1000}){1000}){1000}" }, "ab")).toBeUndefined();
  });
});

/** Pieces of which a pattern is put together; none of them backtracks for long on a short text. */
const piece = fc.constantFrom(
  "a",
  "b",
  "ab",
  ".",
  "[ab]",
  "[^a]",
  "\\d",
  "\\w",
  "(a|b)",
  "(?:ab|c)",
  "(?=a)",
  "(?!b)",
  "^",
  "$",
  "\\b",
  "",
  "\\u0061",
  "\\x62",
  "\\p{L}",
  "😀",
  "\\.",
);
const quantifier = fc.constantFrom("", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?");
const assertions = new Set(["(?=a)", "(?!b)", "^", "$", "\\b", ""]);
const pattern = fc
  .array(fc.tuple(piece, quantifier), { maxLength: 5 })
  .map((parts) => parts.map(([one, times]) => (assertions.has(one) ? one : `${one}${times}`)).join(""));

test("a pattern matches what the native engine matches", () => {
  const texts = fc.string({ unit: fc.constantFrom("a", "b", "c", "1", ".", " ", "😀"), maxLength: 6 });
  fc.assert(
    fc.property(
      fc.oneof(
        pattern,
        fc.tuple(pattern, pattern).map(([a, b]) => `(${a}|${b})+$`),
      ),
      texts,
      (source, value) => {
        fc.pre(compilePattern(source) !== "unsupported");
        expect(problem({ pattern: source }, value) === undefined).toBe(new RegExp(source, "u").test(value));
      },
    ),
    { numRuns: 2_000 },
  );
});

test("says the same as the schema library whose JSON Schema it is", () => {
  const tree: z.ZodType = z.lazy(() => z.object({ name: z.string().min(1), kids: z.array(tree).max(2).optional() }));
  const schemas = [
    z.object({ a: z.string(), b: z.number().int().min(0).max(9).optional() }),
    z.strictObject({ a: z.literal(["x", "y"]), b: z.boolean().nullable() }),
    z.union([z.string().regex(/^[a-z]*$/), z.array(z.union([z.number(), z.null()]))]),
    z.discriminatedUnion("a", [z.object({ a: z.literal("x"), b: z.number() }), z.object({ a: z.literal("y") })]),
    z.record(z.string().max(1), z.union([z.number(), z.string()])),
    z.tuple([z.string(), z.number()]),
    z.object({ a: z.email() }),
    tree,
  ];
  const leaf = fc.constantFrom<JsonValue>("", "x", "y", "a@b.co", 0, 3, 12, 1.5, true, null);
  const values = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "name", "kids"), tie("value"), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).value;
  fc.assert(
    fc.property(fc.constantFrom(...schemas), values, (schema, value) => {
      expect(problem(toJsonSchema(schema), value) === undefined).toBe(schema.safeParse(value).success);
    }),
    { numRuns: 2_000 },
  );
});

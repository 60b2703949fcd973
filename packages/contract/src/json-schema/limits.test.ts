import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { JsonObject, JsonValue } from "../json.ts";
import { toJsonSchema } from "../schema.ts";
import { checkJson } from "./index.ts";

const problem = (schema: JsonObject, value: unknown): string | undefined => {
  const checked = checkJson(schema, value);
  return checked.type === "invalid" ? checked.message : undefined;
};

const many = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));

type Node = { kind: "box" | "row" | "tip"; kids?: Node[] };

const kindOf = (kind: string) => z.object({ kind: z.literal(kind), kids: z.array(z.lazy(() => node)).optional() });
const node: z.ZodType = z.union([kindOf("box"), kindOf("row"), kindOf("tip")]);

const nested = (depth: number, leaf: JsonValue): JsonValue => (depth === 0 ? leaf : { kids: [nested(depth - 1, leaf)], kind: "tip" });

describe("what is large or deep, and fits", () => {
  it("a union that refers to itself, as deep as a page", () => {
    const deep: Node = JSON.parse(JSON.stringify(nested(60, { kind: "row" })));
    expect(node.safeParse(deep).success).toBe(true);
    expect(problem(toJsonSchema(node), deep)).toBeUndefined();
  });

  it("a list of 150,000 objects", () => {
    const schema = { items: { type: "object", properties: { a: { type: "number" } } } };
    expect(
      problem(
        schema,
        many(150_000, (a) => ({ a })),
      ),
    ).toBeUndefined();
    expect(
      problem(
        schema,
        many(150_000, (a) => ({ a: a < 149_999 ? a : "x" })),
      ),
    ).toBe("149999.a: must be number, got string");
  });

  it("a property that has the name of a keyword is a schema like every other", () => {
    const parts = { allOf: [{ properties: { a: { type: "string" } } }], unevaluatedProperties: false };
    for (const name of ["default", "const", "enum", "examples"]) {
      expect(problem({ properties: { [name]: parts } }, { [name]: { a: "x" } })).toBeUndefined();
      expect(problem({ properties: { [name]: parts } }, { [name]: { b: "x" } })).toBe(`${name}.b: is not allowed`);
      expect(problem({ $ref: "#here", $defs: { [name]: { $anchor: "here", type: "string" } } }, 1)).toBe("must be string, got number");
    }
  });
});

describe("what does not fit is told in a few words", () => {
  it("the reasons of two unions inside each other, and not of sixty", () => {
    expect(problem(toJsonSchema(node), nested(60, { kind: "leaf" }))).toMatch(/^fits none of 3 forms \(.{0,200}\)$/);
  });

  it.each<[string, JsonObject, JsonValue]>([
    ["50,000 choices", { enum: many(50_000, (index) => `choice-${index}`) }, "x"],
    ["a long constant", { const: "x".repeat(100_000) }, "y"],
    ["a long name", { additionalProperties: { type: "number" } }, { ["k".repeat(100_000)]: "x" }],
    ["a long name that is not allowed", { additionalProperties: false }, { ["k".repeat(100_000)]: "x" }],
    ["a long pattern", { pattern: `^${"a".repeat(5_000)}$` }, "x"],
    ["many types", { type: many(10_000, () => "string") }, 1],
  ])("%s", (_, schema, value) => {
    const message = problem(schema, value);
    expect(message).toBeDefined();
    expect(message?.length).toBeLessThan(1_000);
  });

  it("a number beside a multiple is none", () => {
    for (const [of, value] of [
      [1, 1e-10],
      [0.1, 1.000_000_000_1],
      [0.01, 19.990_000_1],
    ] as const)
      expect(problem({ multipleOf: of }, value)).toBe(`must be a multiple of ${of}`);
    for (const [of, value] of [
      [0.01, 19.99],
      [0.01, 123_456_789_012.34],
      [0.0001, 0.0075],
      [1e-8, 0.00751],
      [0.1, 0],
    ] as const)
      expect(problem({ multipleOf: of }, value)).toBeUndefined();
  });
});

describe("what comes to an end although it was made not to", () => {
  it.each<[string, JsonObject, JsonValue]>([
    ["a costly pattern on every item", { items: { pattern: "^(?:a?){3000}b$" } }, many(2_000, () => "a".repeat(300))],
    [
      "a costly pattern on every name",
      { patternProperties: { "^(?:a?){3000}b$": true } },
      Object.fromEntries(many(500, (n) => [`${"a".repeat(300)}${n}`, 1])),
    ],
  ])("%s", (_, schema, value) => {
    expect(problem(schema, value)).toBe("the patterns of the schema take too many steps to check");
  });

  it("choices are looked up", () => {
    const choices = many(20_000, (index) => `choice-${index}`);
    let reads = 0;
    const counted = new Proxy(choices, {
      get: (list, key) => {
        reads += 1;
        return Reflect.get(list, key);
      },
    });
    expect(problem({ items: { enum: counted } }, [...choices, "other"])).toMatch(/^20000: must be one of/);
    expect(reads).toBeLessThan(choices.length * 3);
  });

  it("a stack that is nearly used up", () => {
    const list = {
      $ref: "#/$defs/n",
      $defs: { n: { anyOf: [{ type: "number" }, { allOf: [{ properties: { a: { $ref: "#/$defs/n" } } }] }] } },
    };
    const value = many(200, () => 0).reduce<JsonValue>((a) => ({ a }), 1);
    expect(problem(list, value)).toBeUndefined();
    const answers = new Set<string>();
    const dive = (): void => {
      const before = answers.size;
      try {
        dive();
      } catch {}
      if (answers.size === before || answers.size < 2) answers.add(problem(list, value) ?? "fits");
    };
    try {
      dive();
    } catch {}
    expect([...answers].sort()).toEqual(["fits", "the schema and the value nest too deeply to be checked"]);
  });
});

import type { JsonObject } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { cleanSchema } from "./clean-schema.ts";

const property = (schema: JsonObject): unknown => {
  const { properties } = cleanSchema({ type: "object", properties: { p: schema } });
  return Object(properties).p;
};

describe("cleanSchema", () => {
  test("drops $schema and definitions, with references put in their place", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { home: { $ref: "#/$defs/place", description: "where" }, work: { $ref: "#/definitions/a~1b" } },
      $defs: { place: { type: "object", properties: { city: { type: "string" } } } },
      definitions: { "a/b": { type: "string" } },
    };
    expect(cleanSchema(schema)).toEqual({
      type: "object",
      properties: {
        home: { type: "object", properties: { city: { type: "string" } }, description: "where" },
        work: { type: "string" },
      },
    });
  });

  test("a type that contains itself is cut where it repeats", () => {
    const node: JsonObject = { type: "object", properties: { next: { $ref: "#/$defs/node" } } };
    const cleaned = cleanSchema({ $ref: "#/$defs/node", $defs: { node } });
    expect(cleaned).toEqual({ type: "object", properties: { next: {} } });
    expect(cleanSchema({ type: "object", properties: { self: { $ref: "#" } } })).toEqual({
      type: "object",
      properties: { self: { type: "object", properties: { self: {} } } },
    });
  });

  test("a reference that leads nowhere allows anything", () => {
    expect(property({ $ref: "https://example.com/x", description: "d" })).toEqual({ description: "d" });
    expect(property({ $ref: "#/$defs/none" })).toEqual({});
  });

  test("const becomes a single enum value; one outside of the enum fits nothing", () => {
    expect(property({ const: "a" })).toEqual({ enum: ["a"] });
    expect(property({ const: "a", enum: ["a", "b"] })).toEqual({ enum: ["a"] });
    expect(property({ const: "c", enum: ["a", "b"] })).toBe(false);
  });

  test("T or null becomes T", () => {
    expect(property({ anyOf: [{ type: "string" }, { type: "null" }], description: "d" })).toEqual({ type: "string", description: "d" });
    expect(property({ type: ["integer", "null"] })).toEqual({ type: "integer" });
    expect(property({ type: ["string", "null"], enum: ["a", null] })).toEqual({ type: "string", enum: ["a"] });
    expect(property({ type: ["string", "number", "null"] })).toEqual({ type: ["string", "number"] });
    expect(property({ anyOf: [{ type: "string" }, { type: "number" }, { type: "null" }] })).toEqual({
      anyOf: [{ type: "string" }, { type: "number" }, { type: "null" }],
    });
    expect(property({ type: "null" })).toEqual({ type: "null" });
  });

  test("arrays get items and objects get properties, at every depth", () => {
    expect(property({ type: "array" })).toEqual({ type: "array", items: {} });
    expect(property({ type: "array", items: { type: "object" } })).toEqual({ type: "array", items: { type: "object", properties: {} } });
    expect(property({ anyOf: [{ type: "object" }, { type: "array" }] })).toEqual({
      anyOf: [
        { type: "object", properties: {} },
        { type: "array", items: {} },
      ],
    });
  });

  test("names and values that look like keywords are left alone", () => {
    const schema = {
      type: "object",
      properties: { const: { type: "string" }, $defs: { type: "number" }, type: { enum: [{ const: 1 }], default: { $schema: "x" } } },
    };
    expect(cleanSchema(schema)).toEqual(schema);
  });

  test("does not change what it was given", () => {
    const schema: JsonObject = { $defs: {}, type: "object", properties: { a: { type: ["string", "null"] }, b: { const: "x" } } };
    const before = structuredClone(schema);
    expect(cleanSchema(schema)).toEqual({ type: "object", properties: { a: { type: "string" }, b: { enum: ["x"] } } });
    expect(schema).toEqual(before);
  });
});

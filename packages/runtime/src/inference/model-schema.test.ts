import type { JsonObject } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { modelSchema } from "./model-schema.ts";

const property = (schema: JsonObject): unknown => {
  const { properties } = modelSchema({ type: "object", properties: { x: schema } });
  return typeof properties === "object" && properties !== null ? Reflect.get(properties, "x") : undefined;
};

describe("modelSchema", () => {
  it("drops what models do not read, but not a property of that name", () => {
    const schema = modelSchema({ $schema: "x", $defs: {}, definitions: {}, type: "object", properties: { $defs: { type: "string" } } });
    expect(schema).toEqual({ type: "object", properties: { $defs: { type: "string" } } });
  });

  it("writes a constant as the only value", () => {
    expect(property({ const: "a" })).toEqual({ enum: ["a"] });
    expect(property({ const: "a", enum: ["a", "b"] })).toEqual({ enum: ["a"] });
    expect(property({ const: "c", enum: ["a", "b"] })).toBe(false);
    expect(property({ type: "string", default: { const: 1 } })).toEqual({ type: "string", default: { const: 1 } });
  });

  it("takes null away from beside a type", () => {
    expect(property({ anyOf: [{ type: "string" }, { type: "null" }], description: "d" })).toEqual({ type: "string", description: "d" });
    expect(property({ anyOf: [{ const: null }, { type: "object" }] })).toEqual({ type: "object", properties: {} });
    expect(property({ type: ["array", "null"] })).toEqual({ type: "array", items: {} });
    expect(property({ type: ["string", "number", "null"] })).toEqual({ type: ["string", "number"] });
    expect(property({ anyOf: [{ type: "string" }, { type: "number" }] })).toEqual({ anyOf: [{ type: "string" }, { type: "number" }] });
  });

  it("completes arrays and objects at every depth", () => {
    expect(property({ type: "array", items: { type: "object" } })).toEqual({ type: "array", items: { type: "object", properties: {} } });
    expect(property({ oneOf: [{ type: "array" }], additionalProperties: { type: "object" } })).toEqual({
      oneOf: [{ type: "array", items: {} }],
      additionalProperties: { type: "object", properties: {} },
    });
    expect(property({ additionalProperties: false })).toEqual({ additionalProperties: false });
  });

  it("fills references in, and lets a recursive one accept anything", () => {
    const tree = {
      type: "object",
      properties: { root: { $ref: "#/$defs/node", description: "the root" } },
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, name: { $ref: "#/definitions/name" } } } },
      definitions: { name: { const: "n" } },
    };
    expect(modelSchema(tree)).toEqual({
      type: "object",
      properties: { root: { type: "object", description: "the root", properties: { next: {}, name: { enum: ["n"] } } } },
    });
  });

  it("gives the same object for the same schema", () => {
    const schema = { type: "object" };
    expect(modelSchema(schema)).toBe(modelSchema(schema));
    expect(schema).toEqual({ type: "object" });
  });
});

import { describe, expect, it } from "vitest";
import type { JsonValue } from "../json.ts";
import { type Schema, toJsonSchema } from "../schema.ts";
import { a2aServerSpecSchema } from "./a2a-server.ts";
import { agentSpecSchema } from "./agent.ts";
import { contextPolicySchema } from "./context-policy.ts";
import { remoteEndpointSchema } from "./endpoint.ts";
import { configRecordSchema } from "./envelope.ts";
import { mcpServerSpecSchema } from "./mcp-server.ts";
import { modelSpecSchema } from "./model.ts";
import { agentPatchSchema, emptyPatchSchema, toolPatchSchema } from "./patch.ts";
import { poolSpecSchema } from "./pool.ts";
import { providerSpecSchema } from "./provider.ts";
import { stopConditionSchema } from "./stop-condition.ts";
import { toolRecordSchema } from "./tool-record.ts";

/** The object schemas of a record: the schema itself, or each branch of its union. */
function objects(schema: Schema): readonly JsonValue[] {
  const json = toJsonSchema(schema);
  const { anyOf, oneOf } = json;
  const branches = anyOf ?? oneOf;
  return Array.isArray(branches) ? branches : [json];
}

const STRICT: readonly (readonly [string, Schema, readonly (readonly string[])[]])[] = [
  ["agent", agentSpecSchema, [["id"], ["id", "remote"]]],
  ["agent patch", agentPatchSchema, [[]]],
  ["remote endpoint", remoteEndpointSchema, [["a2a"], ["baseUrl"]]],
  ["A2A server", a2aServerSpecSchema, [["id", "baseUrl"]]],
  ["model", modelSpecSchema, [["id", "provider", "model"]]],
  ["model pool", poolSpecSchema, [["id", "members"]]],
  ["provider", providerSpecSchema, [["id", "adapter"]]],
  [
    "MCP server",
    mcpServerSpecSchema,
    [
      ["id", "type", "command"],
      ["id", "type", "url"],
    ],
  ],
  ["tool", toolRecordSchema, [["id", "name", "description", "parameters"]]],
  ["tool patch", toolPatchSchema, [[]]],
  ["empty patch", emptyPatchSchema, [[]]],
  ["context policy", contextPolicySchema, [[]]],
  ["config record", configRecordSchema, [["spec", "meta"]]],
];

describe("JSON Schema", () => {
  it.each(STRICT)("of a %s is closed and says what is required", (_name, schema, required) => {
    const found = objects(schema);
    expect(found).toHaveLength(required.length);
    for (const [index, names] of required.entries()) {
      expect(found[index]).toMatchObject({ type: "object", additionalProperties: false });
      const { required: listed = [] } = JSON.parse(JSON.stringify(found[index]));
      expect([...listed].sort()).toEqual([...names].sort());
    }
  });

  it("of an agent has names, defaults and choices for a form", () => {
    expect(objects(agentSpecSchema)[0]).toMatchObject({
      properties: {
        maxSteps: { type: "integer", minimum: 0, default: 16 },
        maxContinuationRetries: { default: 2 },
        toolExecution: { default: "parallel", enum: ["parallel", "sequential", "parallel-batch-approval", "parallel-streaming"] },
        tools: { anyOf: [{ type: "array", items: { type: "string", pattern: "\\S" } }, { type: "null" }] },
        stopConditions: { type: "array", default: [] },
      },
    });
  });

  it("of a stop condition has one branch per kind", () => {
    const kinds = objects(stopConditionSchema);
    expect(kinds).toHaveLength(7);
    expect(kinds[1]).toMatchObject({ properties: { type: { const: "timeout" }, seconds: { type: "integer", maximum: 86_400 } } });
  });

  it("of a secret is plain text", () => {
    expect(objects(providerSpecSchema)[0]).toMatchObject({ properties: { apiKey: { type: ["string", "null"] } } });
    expect(objects(mcpServerSpecSchema)[0]).toMatchObject({ properties: { env: { additionalProperties: { type: "string" } } } });
  });

  it("can be sent as JSON", () => {
    for (const [, schema] of STRICT) {
      const json = toJsonSchema(schema);
      expect(JSON.parse(JSON.stringify(json))).toEqual(json);
    }
  });
});

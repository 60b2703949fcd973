import { AwakenError, isJsonObject, type JsonObject, type Schema, validate } from "@awaken/contract";
import { defineTool } from "./define-tool.ts";
import { isFunction, isObject, type JsonSchemaObject } from "./foreign-values.ts";
import { frontendTool } from "./frontend-tool.ts";
import { seldom } from "./seldom-door.ts";
import type { Tool } from "./tool.ts";

/** A tool as `tool()` of the AI SDK makes it (majors 6 and 7), by what it has and not by where it comes from. */
export interface ForeignTool {
  /** When and how to use it, for the model. */
  readonly description?: unknown;
  /** A Standard Schema, or the AI SDK's own. */
  readonly inputSchema: unknown;
  /** Left out, the client runs it. */
  readonly execute?: unknown;
  /** True, or a function of the input: then the call waits for a decision. */
  readonly needsApproval?: unknown;
}

const isStandard = (value: unknown): value is Schema => isObject(value) && "~standard" in value;

const isJsonSchemaObject = (value: unknown): value is JsonSchemaObject => isObject(value) && "jsonSchema" in value;

/** The AI SDK's check as a Standard Schema. */
const toStandard = (schema: JsonSchemaObject, json: JsonObject): Schema => ({
  "~standard": { version: 1, vendor: "ai", validate: async (value) => (await seldom.open()).checkForeign(schema, json, value) },
});

/** What checks the input, and tells the model of it where the schema cannot. */
function readSchema(id: string, given: unknown): { readonly input: Schema; readonly parameters?: JsonObject } {
  // A schema may be given lazily.
  const isLazy = typeof given === "function" && !isStandard(given) && !isJsonSchemaObject(given);
  const schema: unknown = isLazy ? Reflect.apply(given, undefined, []) : given;
  if (isStandard(schema)) return { input: schema };
  if (isJsonSchemaObject(schema) && isJsonObject(schema.jsonSchema))
    return { input: toStandard(schema, schema.jsonSchema), parameters: schema.jsonSchema };
  throw new AwakenError("invalid_tool", `tool '${id}': inputSchema must be a Standard Schema or an AI SDK schema`, {
    details: { tool: id },
  });
}

/** An AI SDK tool as one of ours. Without `execute` it is the client's to run. */
export function fromAiSdkTool(id: string, { inputSchema, description, execute, needsApproval }: ForeignTool): Tool {
  const checked = readSchema(id, inputSchema);
  const tool = defineTool({
    id,
    description: typeof description === "string" ? description : "",
    ...checked,
    ...(needsApproval === undefined
      ? {}
      : { approve: async (value, scene) => (await seldom.open()).approveForeign(id, needsApproval, value, scene) }),
    execute: async (value, context) => (await seldom.open()).runForeign(execute, value, context),
  });
  return isFunction(execute) ? tool : frontendTool(tool.descriptor, (value) => validate(checked.input, value));
}

/** By what it has: ours have no `inputSchema`. */
export const isForeignTool = (value: unknown): value is ForeignTool => isObject(value) && "inputSchema" in value && !("prepare" in value);

/** Tools as a user gives them: a list of ours, or by name with AI SDK tools among them. */
export type ToolList = readonly Tool[] | { readonly [id: string]: Tool | ForeignTool };

import { AwakenError, isJsonObject, type JsonObject, type Schema, toJson, validate } from "@awaken/contract";
import { defineTool } from "./define-tool.ts";
import { frontendTool } from "./frontend-tool.ts";
import { checkJsonSchema } from "./json-schema.ts";
import { Reply } from "./reply.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { allow, ask } from "./verdict.ts";

/** What an AI SDK tool gets beside its input. */
interface ForeignOptions {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal: AbortSignal;
}

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

type Call = (input: unknown, options: ForeignOptions) => unknown;

const isObject = (value: unknown): value is object => (typeof value === "object" && value !== null) || typeof value === "function";
const isFunction = (value: unknown): value is Call => typeof value === "function";

const isStandard = (value: unknown): value is Schema => isObject(value) && "~standard" in value;

/** The AI SDK's own schema object: JSON Schema with an optional check. */
interface JsonSchemaObject {
  readonly jsonSchema: unknown;
  readonly validate?: (value: unknown) => unknown;
}

const isJsonSchemaObject = (value: unknown): value is JsonSchemaObject => isObject(value) && "jsonSchema" in value;

function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The AI SDK's check as a Standard Schema. It answers `{ success, value }` or `{ success, error }`; without one the JSON Schema decides. */
function toStandard(schema: JsonSchemaObject, json: JsonObject): Schema {
  const check = async (value: unknown) => {
    if (schema.validate === undefined) {
      const fitting = await checkJsonSchema(json, value);
      return fitting.type === "valid" ? { value: fitting.value } : { issues: [{ message: fitting.message }] };
    }
    const checked: unknown = await schema.validate(value);
    if (isObject(checked) && Reflect.get(checked, "success") === true) return { value: Reflect.get(checked, "value") as unknown };
    const error: unknown = isObject(checked) ? Reflect.get(checked, "error") : "it does not fit";
    return { issues: [{ message: problemOf(error) }] };
  };
  return { "~standard": { version: 1, vendor: "ai", validate: check } };
}

interface ReadSchema {
  readonly input: Schema;
  readonly parameters: JsonObject | undefined;
}

function readSchema(id: string, given: unknown): ReadSchema {
  // A schema may be given lazily.
  const schema: unknown =
    typeof given === "function" && !isStandard(given) && !isJsonSchemaObject(given) ? Reflect.apply(given, undefined, []) : given;
  if (isStandard(schema)) return { input: schema, parameters: undefined };
  if (isJsonSchemaObject(schema) && isJsonObject(schema.jsonSchema))
    return { input: toStandard(schema, schema.jsonSchema), parameters: schema.jsonSchema };
  throw new AwakenError("invalid_tool", `tool '${id}': inputSchema must be a Standard Schema or an AI SDK schema`, {
    details: { tool: id },
  });
}

const optionsOf = (context: Pick<ToolContext, "messages" | "signal"> & { readonly callId?: string }): ForeignOptions => ({
  toolCallId: context.callId ?? "",
  messages: context.messages,
  abortSignal: context.signal,
});

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> => isObject(value) && Symbol.asyncIterator in value;

/** A tool that yields tells its progress; the last value is the result. */
async function lastOf(values: AsyncIterable<unknown>, context: ToolContext): Promise<unknown> {
  let last: unknown;
  for await (const value of values) {
    last = value;
    context.activity("preliminary-result", toJson(value));
  }
  return last;
}

/** An AI SDK tool as one of ours. Without `execute` it is the client's to run. */
export function fromAiSdkTool(id: string, given: ForeignTool): Tool {
  const { input, parameters } = readSchema(id, given.inputSchema);
  const description = typeof given.description === "string" ? given.description : "";
  const { execute, needsApproval } = given;
  const described = parameters === undefined ? {} : { parameters };
  const approves = async (value: unknown, options: ForeignOptions) =>
    isFunction(needsApproval) ? (await needsApproval(value, options)) === true : needsApproval === true;
  const tool = defineTool({
    id,
    description,
    input,
    ...described,
    ...(needsApproval === undefined
      ? {}
      : { approve: async (value, scene) => ((await approves(value, optionsOf(scene))) ? ask(`Run ${id}?`) : allow()) }),
    execute: async (value, context) => {
      if (!isFunction(execute)) return new Reply({ type: "error", code: "internal", message: "the tool has no execute" }, undefined);
      const returned = execute(value, optionsOf(context));
      return isAsyncIterable(returned) ? lastOf(returned, context) : returned;
    },
  });
  return isFunction(execute) ? tool : frontendTool(tool.descriptor, (value) => validate(input, value));
}

/** By what it has: ours have no `inputSchema`. */
export const isForeignTool = (value: unknown): value is ForeignTool => isObject(value) && "inputSchema" in value && !("prepare" in value);

/** Tools as a user gives them: a list of ours, or by name with AI SDK tools among them. */
export type ToolList = readonly Tool[] | { readonly [id: string]: Tool | ForeignTool };

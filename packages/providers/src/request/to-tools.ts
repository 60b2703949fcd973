import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { type InferenceRequest, type JsonObject, perObject, type ToolDescriptor } from "@awaken/contract";
import { cleanSchema } from "./clean-schema.ts";

type WireSchema = LanguageModelV4FunctionTool["inputSchema"];

/** A copy that the SDK may own. */
const toWire = (schema: JsonObject): WireSchema => JSON.parse(JSON.stringify(schema));

/** Cleaning walks the whole schema, and a tool is sent again at every step. */
const toInputSchema = perObject((parameters: JsonObject): WireSchema => toWire(cleanSchema(parameters)));

export function toTools(descriptors: readonly ToolDescriptor[]): LanguageModelV4FunctionTool[] {
  return descriptors.map(({ id, description, parameters }) => ({
    type: "function",
    name: id,
    description,
    inputSchema: toInputSchema(parameters),
  }));
}

export function toResponseFormat(format: InferenceRequest["responseFormat"]): Pick<LanguageModelV4CallOptions, "responseFormat"> {
  if (format === undefined) return {};
  const { schema, name } = format;
  return { responseFormat: { type: "json", schema: toWire(schema), ...(name !== undefined && { name }) } };
}

import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { MODALITIES, type Modality } from "@awaken/contract/spec";
import type { Capabilities } from "./capabilities.ts";

/** What list of models a provider has: OpenAI's shape and its kin, or Gemini's. */
export type DiscoveryShape = "openai" | "gemini";

const OUR_NAMES: ReadonlyMap<string, Modality> = new Map<string, Modality>([
  ...MODALITIES.map((name) => [name, name] as const),
  ["file", "pdf"],
]);

const at = (value: JsonValue | undefined, key: string): JsonValue | undefined => (isJsonObject(value) ? value[key] : undefined);

function firstNumber(...values: readonly (JsonValue | undefined)[]): number | undefined {
  return values.find((value): value is number => typeof value === "number" && Number.isSafeInteger(value) && value > 0);
}

function readModalities(value: JsonValue | undefined): Modality[] {
  if (!Array.isArray(value)) return [];
  const known = value.flatMap((name) => (typeof name === "string" ? (OUR_NAMES.get(name.toLowerCase()) ?? []) : []));
  return [...new Set(known)];
}

const limits = (contextWindow: number | undefined, maxOutputTokens: number | undefined): Capabilities => ({
  ...(contextWindow === undefined ? {} : { contextWindow }),
  ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
});

/** Reads one model of a provider's list. What makes no sense is weeded out when capabilities are put together. */
export function discoveredCapabilities(shape: DiscoveryShape, record: JsonObject): Capabilities {
  if (shape === "gemini") return limits(firstNumber(at(record, "inputTokenLimit")), firstNumber(at(record, "outputTokenLimit")));
  const architecture = at(record, "architecture");
  const input = readModalities(at(architecture, "input_modalities"));
  const output = readModalities(at(architecture, "output_modalities"));
  const cutoff = at(record, "knowledge_cutoff");
  return {
    ...limits(
      firstNumber(at(record, "context_window"), at(record, "context_length"), at(record, "context_size")),
      firstNumber(
        at(record, "max_output_tokens"),
        at(record, "max_completion_tokens"),
        at(at(record, "top_provider"), "max_completion_tokens"),
      ),
    ),
    ...(input.length + output.length === 0 ? {} : { modalities: { input, output } }),
    ...(typeof cutoff === "string" ? { knowledgeCutoff: cutoff } : {}),
  };
}

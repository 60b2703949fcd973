import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";

export type AiSdkModel = LanguageModelV4 | LanguageModelV3;
/** An AI SDK provider: `openai`, `createAnthropic({ … })`, `customProvider({ … })`, or a function from id to model. */
export type AiSdkProvider =
  | {
      /** A model by the vendor's name. */
      languageModel(modelId: string): AiSdkModel;
    }
  | ((modelId: string) => AiSdkModel);
export type AiSdkSource = AiSdkModel | AiSdkProvider;

export const isModel = (source: object): source is AiSdkModel => "specificationVersion" in source && "doStream" in source;
const hasLanguageModel = (source: object): source is { languageModel(modelId: string): AiSdkModel } =>
  "languageModel" in source && typeof source.languageModel === "function";

export function isAiSdkSource(value: unknown): value is AiSdkSource {
  if (typeof value === "function") return true;
  return typeof value === "object" && value !== null && (isModel(value) || hasLanguageModel(value));
}

export function findModel(source: AiSdkSource, modelId: string): AiSdkModel {
  if (isModel(source)) return source;
  return hasLanguageModel(source) ? source.languageModel(modelId) : source(modelId);
}

export const unsupported = (model: { readonly specificationVersion: unknown }): string =>
  `a model of AI SDK specification '${String(model.specificationVersion)}' cannot be used: v3 and v4 can`;

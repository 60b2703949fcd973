import { type AiSdkModel, type AiSdkProvider, type AiSdkSource, fromAiSdk, isAiSdkSource } from "@awaken/providers";
import type { ProviderInput } from "@awaken/runtime";

/** One of ours, or an AI SDK provider or model. */
export type AnyProvider = ProviderInput | AiSdkSource;

/** Ours have a `stream` of their own; whatever else can give a language model is the AI SDK's. */
const isForeign = (given: AnyProvider): given is AiSdkSource =>
  !("stream" in given) && !("provider" in given && "signature" in given) && isAiSdkSource(given);

export function toProvider(given: AnyProvider): ProviderInput {
  return isForeign(given) ? fromAiSdk(given) : given;
}

export type { AiSdkModel, AiSdkProvider };

import { perObject, reading } from "@awaken/contract";
import { type AiSdkModel, type AiSdkProvider, type AiSdkSource, fromAiSdk, isAiSdkSource } from "@awaken/providers";
import type { ProviderInput } from "@awaken/runtime";

/** One of ours, or an AI SDK provider or model. */
export type AnyProvider = ProviderInput | AiSdkSource;

/** Ours have a `stream` of their own; whatever else can give a language model is the AI SDK's. */
function isForeign(given: unknown): given is AiSdkSource {
  if (!isAiSdkSource(given)) return false;
  return !("stream" in given) && !("provider" in given && "signature" in given);
}

/** The same object is the same provider, so that what is known about it stays known when it is given again. */
const wrap = perObject((given: AiSdkSource): ProviderInput => fromAiSdk(given));

export const toProvider = (given: AnyProvider): ProviderInput =>
  reading("registry_build_failed", "registry build failed: the provider", () => (isForeign(given) ? wrap(given) : given));

export const toProviders = (given: { readonly [id: string]: AnyProvider }): { readonly [id: string]: ProviderInput } =>
  Object.fromEntries(Object.entries(given).map(([id, provider]) => [id, toProvider(provider)]));

export type { AiSdkModel, AiSdkProvider };

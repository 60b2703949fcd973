import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { InferenceRequest, JsonObject, ProviderMetadata, ReasoningEffort } from "@awaken/contract";
import { type SdkMetadata, toSdkMetadata } from "../sdk-json.ts";
import { besideNamedEffort, type EffortOptions, toVendorEffort } from "./to-effort.ts";
import { toPrompt } from "./to-prompt.ts";
import { toResponseFormat, toTools } from "./to-tools.ts";
import type { Vendor } from "./vendor.ts";

export type Headers = Readonly<Record<string, string>>;

/** A request in the words of the SDK, and what it could not say. */
export interface CallOptions {
  readonly options: LanguageModelV4CallOptions;
  readonly warnings: readonly string[];
}

export interface CallSetup {
  readonly vendor: Vendor;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** The model takes `reasoning` as a call option, as V4 models do. */
  readonly hasEffortOption: boolean;
}

function toSampling({ temperature, maxTokens, topP }: NonNullable<InferenceRequest["overrides"]>): Partial<LanguageModelV4CallOptions> {
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(topP !== undefined && { topP }),
  };
}

type Effort = EffortOptions & Pick<LanguageModelV4CallOptions, "reasoning">;

function toEffort(effort: ReasoningEffort | undefined, { vendor, hasEffortOption }: CallSetup): Effort {
  if (effort === undefined) return { providerOptions: {}, warnings: [] };
  if (!hasEffortOption || typeof effort === "object") return toVendorEffort(effort, vendor);
  return { ...besideNamedEffort(effort, vendor), reasoning: effort };
}

/** Field by field within a vendor's namespace; the later one wins. */
function mergeOptions(...sources: readonly ProviderMetadata[]): ProviderMetadata {
  const merged: Record<string, JsonObject> = {};
  for (const [namespace, fields] of sources.flatMap(Object.entries<JsonObject>)) merged[namespace] = { ...merged[namespace], ...fields };
  return merged;
}

/** The thread is the one place where history lives, so the vendor keeps none and gets it in full each time. */
const NOT_KEPT = { openai: { store: false } };

function toProviderOptions(request: InferenceRequest, vendor: Vendor, effort: ProviderMetadata): { providerOptions?: SdkMetadata } {
  const merged = mergeOptions(vendor.keepsAnswers ? NOT_KEPT : {}, effort, request.providerOptions ?? {});
  return Object.keys(merged).length === 0 ? {} : toSdkMetadata(merged);
}

export function toCallOptions(request: InferenceRequest, setup: CallSetup): CallOptions {
  const { vendor, headers, signal } = setup;
  const { providerOptions, warnings, reasoning } = toEffort(request.overrides?.reasoningEffort, setup);
  const tools = toTools(request.tools);
  return {
    warnings,
    options: {
      prompt: toPrompt(request, vendor),
      abortSignal: signal,
      ...toSampling(request.overrides ?? {}),
      ...(reasoning !== undefined && { reasoning }),
      ...(tools.length > 0 && { tools, toolChoice: { type: "auto" } }),
      ...toResponseFormat(request.responseFormat),
      ...(Object.keys(headers).length > 0 && { headers: { ...headers } }),
      ...toProviderOptions(request, vendor, providerOptions),
    },
  };
}

import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import {
  AwakenError,
  InferenceError,
  type InferenceOptions,
  type InferenceRequest,
  type Provider,
  type StreamPart,
} from "@awaken/contract";
import { streamV3 } from "./ai-sdk-v3.ts";
import { streamV4 } from "./ai-sdk-v4.ts";
import { Call } from "./call/call.ts";
import { headerSecrets, modelSecrets } from "./model-secrets.ts";
import type { Headers } from "./request/to-options.ts";
import { lazyScrub } from "./scrub.ts";

export type AiSdkModel = LanguageModelV4 | LanguageModelV3;
/** An AI SDK provider: `openai`, `createAnthropic({ … })`, `customProvider({ … })`, or a function from id to model. */
export type AiSdkProvider = { languageModel(modelId: string): AiSdkModel } | ((modelId: string) => AiSdkModel);
export type AiSdkSource = AiSdkModel | AiSdkProvider;

export interface AiSdkOptions {
  /** For messages and traces. Default: the model's own provider id, or `ai-sdk`. */
  readonly name?: string;
  /** Limit for opening and for each gap between parts. Default 120 s. */
  readonly timeoutMs?: number;
  /** Sent with every call. */
  readonly headers?: Headers;
  /** Texts that must not show up in errors, besides the credentials that the model's own headers show. */
  readonly secrets?: readonly string[];
}

const TIMEOUT_MS = 120_000;

const isModel = (source: object): source is AiSdkModel => "specificationVersion" in source && "doStream" in source;
const hasLanguageModel = (source: object): source is { languageModel(modelId: string): AiSdkModel } =>
  "languageModel" in source && typeof source.languageModel === "function";

export function isAiSdkSource(value: unknown): value is AiSdkSource {
  if (typeof value === "function") return true;
  return typeof value === "object" && value !== null && (isModel(value) || hasLanguageModel(value));
}

function findModel(source: AiSdkSource, modelId: string): AiSdkModel {
  if (isModel(source)) return source;
  return hasLanguageModel(source) ? source.languageModel(modelId) : source(modelId);
}

const unsupported = (model: { readonly specificationVersion: unknown }): string =>
  `a model of AI SDK specification '${String(model.specificationVersion)}' cannot be used: v3 and v4 can`;

function streamModel(model: AiSdkModel, request: InferenceRequest, headers: Headers, call: Call): Promise<AsyncIterable<StreamPart>> {
  switch (model.specificationVersion) {
    case "v4":
      return streamV4(model, request, headers, call);
    case "v3":
      return streamV3(model, request, headers, call);
    default:
      throw new InferenceError({ type: "invalid-request", message: unsupported(model) });
  }
}

/**
 * Any AI SDK model or provider behind our port. A provider is asked for `request.model`; a model object always serves
 * itself, so another upstream model cannot be asked for.
 */
export function fromAiSdk(source: AiSdkSource, options: AiSdkOptions = {}): Provider {
  if (!isAiSdkSource(source)) throw new AwakenError("invalid_spec", "expected an AI SDK model or provider");
  const { timeoutMs = TIMEOUT_MS, headers = {}, secrets = [] } = options;
  const stream = async (request: InferenceRequest, { signal }: InferenceOptions): Promise<AsyncIterable<StreamPart>> => {
    let model: AiSdkModel | undefined;
    const findSecrets = () => [...secrets, ...headerSecrets(headers), ...(model === undefined ? [] : modelSecrets(model))];
    const call = new Call(signal, { timeoutMs, scrub: lazyScrub(findSecrets) });
    try {
      model = findModel(source, request.model);
      return await streamModel(model, request, headers, call);
    } catch (thrown) {
      const error = call.explain(thrown);
      call.end();
      throw error;
    }
  };
  if (!isModel(source)) return { name: options.name ?? "ai-sdk", stream };
  if (source.specificationVersion !== "v4" && source.specificationVersion !== "v3") {
    throw new AwakenError("capability_mismatch", unsupported(source));
  }
  return { name: options.name ?? source.provider, canOverrideModel: false, stream };
}

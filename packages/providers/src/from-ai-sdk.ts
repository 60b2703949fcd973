import { AwakenError, Door, type InferenceOptions, type InferenceRequest, type Provider, type StreamPart } from "@awaken/contract";
import { type AiSdkSource, findModel, isAiSdkSource, isModel, unsupported } from "./ai-sdk-source.ts";
import type { Headers } from "./request/to-options.ts";

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

const translation = new Door(() => import("./stream-model.ts"));

/**
 * Any AI SDK model or provider behind our port. A provider is asked for `request.model`; a model object always serves
 * itself, so another upstream model cannot be asked for. What translates calls is loaded with the first of them.
 */
export function fromAiSdk(source: AiSdkSource, options: AiSdkOptions = {}): Provider {
  if (!isAiSdkSource(source)) throw new AwakenError("invalid_spec", "expected an AI SDK model or provider");
  const { timeoutMs = TIMEOUT_MS, headers = {}, secrets = [] } = options;
  const stream = async (request: InferenceRequest, { signal }: InferenceOptions): Promise<AsyncIterable<StreamPart>> => {
    const { streamModel } = await translation.open();
    return streamModel({ findModel: () => findModel(source, request.model), request, signal, headers, secrets, timeoutMs });
  };
  if (!isModel(source)) return { name: options.name ?? "ai-sdk", stream };
  if (source.specificationVersion !== "v4" && source.specificationVersion !== "v3") {
    throw new AwakenError("capability_mismatch", unsupported(source));
  }
  return { name: options.name ?? source.provider, canOverrideModel: false, stream };
}

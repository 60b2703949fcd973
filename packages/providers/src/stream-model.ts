import { InferenceError, type InferenceRequest, type StreamPart } from "@awaken/contract";
import { type AiSdkModel, unsupported } from "./ai-sdk-source.ts";
import { streamV3 } from "./ai-sdk-v3.ts";
import { streamV4 } from "./ai-sdk-v4.ts";
import { Call } from "./call/call.ts";
import { headerSecrets, modelSecrets } from "./model-secrets.ts";
import type { Headers } from "./request/to-options.ts";
import { lazyScrub } from "./scrub.ts";

export interface ModelCall {
  /** Asked for once, within the limits of the call: what it throws is the call's failure. */
  readonly findModel: () => AiSdkModel;
  readonly request: InferenceRequest;
  readonly signal: AbortSignal;
  readonly headers: Headers;
  readonly secrets: readonly string[];
  readonly timeoutMs: number;
}

function streamBy(model: AiSdkModel, request: InferenceRequest, headers: Headers, call: Call): Promise<AsyncIterable<StreamPart>> {
  switch (model.specificationVersion) {
    case "v4":
      return streamV4(model, request, headers, call);
    case "v3":
      return streamV3(model, request, headers, call);
    default:
      throw new InferenceError({ type: "invalid-request", message: unsupported(model) });
  }
}

/** One call of an AI SDK model, in the words of our port. */
export async function streamModel({
  findModel,
  request,
  signal,
  headers,
  secrets,
  timeoutMs,
}: ModelCall): Promise<AsyncIterable<StreamPart>> {
  let model: AiSdkModel | undefined;
  const findSecrets = () => [...secrets, ...headerSecrets(headers), ...(model === undefined ? [] : modelSecrets(model))];
  const call = new Call(signal, { timeoutMs, scrub: lazyScrub(findSecrets) });
  try {
    model = findModel();
    return await streamBy(model, request, headers, call);
  } catch (thrown) {
    const error = call.explain(thrown);
    call.end();
    throw error;
  }
}

import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { InferenceRequest, StreamPart } from "@awaken/contract";
import type { Call } from "./call/call.ts";
import { openStream } from "./call/open-stream.ts";
import { toPromptV3 } from "./request/prompt-v3.ts";
import { type CallSetup, type Headers, toCallOptions } from "./request/to-options.ts";
import { vendorOf } from "./request/vendor.ts";

/** Only files differ: their data has no tag. */
const toPartV4 = (part: LanguageModelV3StreamPart): LanguageModelV4StreamPart =>
  part.type === "file" ? { ...part, data: { type: "data", data: part.data } } : part;

function toCallOptionsV3(
  request: InferenceRequest,
  setup: CallSetup,
): { options: LanguageModelV3CallOptions; warnings: readonly string[] } {
  const { options, warnings } = toCallOptions(request, setup);
  const { reasoning: _, prompt, ...same } = options;
  return { warnings, options: { ...same, prompt: toPromptV3(prompt) } };
}

/** Language models of AI SDK specification version 3. */
export function streamV3(
  model: LanguageModelV3,
  request: InferenceRequest,
  headers: Headers,
  call: Call,
): Promise<AsyncIterable<StreamPart>> {
  const setup = { vendor: vendorOf(model.provider), headers, signal: call.signal, hasEffortOption: false };
  return openStream(call, () => {
    const { options, warnings } = toCallOptionsV3(request, setup);
    return { opening: model.doStream(options), convert: toPartV4, warnings };
  });
}

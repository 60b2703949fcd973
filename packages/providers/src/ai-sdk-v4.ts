import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { InferenceRequest, StreamPart } from "@awaken/contract";
import type { Call } from "./call/call.ts";
import { openStream } from "./call/open-stream.ts";
import { type Headers, toCallOptions } from "./request/to-options.ts";
import { vendorOf } from "./request/vendor.ts";

const same = (part: LanguageModelV4StreamPart): LanguageModelV4StreamPart => part;

/** Language models of AI SDK specification version 4. */
export function streamV4(
  model: LanguageModelV4,
  request: InferenceRequest,
  headers: Headers,
  call: Call,
): Promise<AsyncIterable<StreamPart>> {
  const setup = { vendor: vendorOf(model.provider), headers, signal: call.signal, hasEffortOption: true };
  return openStream(call, () => {
    const { options, warnings } = toCallOptions(request, setup);
    return { opening: model.doStream(options), convert: same, warnings };
  });
}

import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

export const NO_TOKENS: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

type FinishV4 = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

export const finish = (unified: FinishV4["finishReason"]["unified"] = "stop", raw?: string): FinishV4 => ({
  type: "finish",
  usage: NO_TOKENS,
  finishReason: { unified, raw },
});

export const finishV3 = (unified: "stop" | "tool-calls" = "stop"): LanguageModelV3StreamPart => ({
  type: "finish",
  usage: NO_TOKENS,
  finishReason: { unified, raw: undefined },
});

export function streamOf<Part>(parts: readonly Part[]): ReadableStream<Part> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

type Streamed<Part> = readonly Part[] | ReadableStream<Part> | (() => PromiseLike<{ stream: ReadableStream<Part> }>);

function open<Part>(streamed: Streamed<Part>): PromiseLike<{ stream: ReadableStream<Part> }> {
  if (typeof streamed === "function") return streamed();
  return Promise.resolve({ stream: streamed instanceof ReadableStream ? streamed : streamOf(streamed) });
}

const unused = () => Promise.reject(new Error("doGenerate is not used"));

export interface FakeV4 extends LanguageModelV4 {
  readonly calls: LanguageModelV4CallOptions[];
}

export function modelV4(streamed: Streamed<LanguageModelV4StreamPart>, provider = "test.chat"): FakeV4 {
  const calls: LanguageModelV4CallOptions[] = [];
  return {
    specificationVersion: "v4",
    provider,
    modelId: "fake",
    supportedUrls: {},
    calls,
    doGenerate: unused,
    doStream(options) {
      calls.push(options);
      return open(streamed);
    },
  };
}

export interface FakeV3 extends LanguageModelV3 {
  readonly calls: LanguageModelV3CallOptions[];
}

export function modelV3(streamed: Streamed<LanguageModelV3StreamPart>, provider = "test.chat"): FakeV3 {
  const calls: LanguageModelV3CallOptions[] = [];
  return {
    specificationVersion: "v3",
    provider,
    modelId: "fake",
    supportedUrls: {},
    calls,
    doGenerate: unused,
    doStream(options) {
      calls.push(options);
      return open(streamed);
    },
  };
}

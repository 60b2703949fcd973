import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { StreamPart } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { finish, NO_TOKENS } from "../testing/models.ts";
import { Translation } from "./from-parts.ts";

type Part = LanguageModelV4StreamPart;

function translate(...parts: Part[]): { out: StreamPart[]; reason: unknown } {
  const translation = new Translation();
  const out: StreamPart[] = [];
  for (const part of parts) translation.push(part, out);
  if (translation.failure === undefined) translation.end(out);
  return { out, reason: translation.failure?.reason };
}

const delta = (value: string, id = "1", providerMetadata?: Record<string, { signature: string }>): Part => ({
  type: "text-delta",
  id,
  delta: value,
  ...(providerMetadata !== undefined && { providerMetadata }),
});
const thought = (value: string, id = "r"): Part => ({ type: "reasoning-delta", id, delta: value });
const STOP: StreamPart = { type: "stop", reason: "end-turn" };

describe("text and reasoning", () => {
  test("inference 2: deltas without a text-end are one block when the stream ends", () => {
    expect(translate(delta("a"), delta("b"), finish()).out).toEqual([
      { type: "text-delta", delta: "a" },
      { type: "text-delta", delta: "b" },
      { type: "block-end" },
      STOP,
    ]);
  });

  test("empty blocks make neither deltas nor ends", () => {
    const parts: Part[] = [{ type: "text-start", id: "1" }, delta(""), { type: "text-end", id: "1" }];
    expect(translate(...parts, finish()).out).toEqual([STOP]);
  });

  test("the vendor's data ends a block: the last that came with any of its parts", () => {
    const { out } = translate(
      { type: "reasoning-start", id: "r", providerMetadata: { openai: { itemId: "rs", reasoningEncryptedContent: null } } },
      thought("hm"),
      { type: "reasoning-end", id: "r", providerMetadata: { openai: { itemId: "rs", reasoningEncryptedContent: "enc" } } },
      delta("a", "1", { anthropic: { signature: "not of reasoning" } }),
      { type: "text-end", id: "1" },
      finish(),
    );
    expect(out).toEqual([
      { type: "reasoning-delta", delta: "hm" },
      { type: "block-end", signature: "enc", providerMetadata: { openai: { itemId: "rs", reasoningEncryptedContent: "enc" } } },
      { type: "text-delta", delta: "a" },
      { type: "block-end", providerMetadata: { anthropic: { signature: "not of reasoning" } } },
      STOP,
    ]);
  });

  test("reasoning without text is kept when the vendor wants it back", () => {
    const { out } = translate(
      { type: "reasoning-start", id: "r", providerMetadata: { anthropic: { redactedData: "xyz" } } },
      { type: "reasoning-end", id: "r" },
      finish(),
    );
    const providerMetadata = { anthropic: { redactedData: "xyz" } };
    expect(out[0]).toEqual({ type: "content", content: { type: "reasoning", text: "", signature: "xyz", providerMetadata } });
  });

  test("an empty text is kept only for its signature", () => {
    const providerMetadata = { google: { thoughtSignature: "s" } };
    const signed: Part[] = [
      { type: "text-start", id: "1", providerMetadata },
      { type: "text-end", id: "1" },
    ];
    expect(translate(...signed, finish()).out[0]).toEqual({ type: "content", content: { type: "text", text: "", providerMetadata } });
    const plain: Part[] = [
      { type: "text-start", id: "1", providerMetadata: { openai: { itemId: "m" } } },
      { type: "text-end", id: "1" },
    ];
    expect(translate(...plain, finish()).out).toEqual([STOP]);
  });

  test("overlapping blocks follow each other, and a signature that comes late is not lost", () => {
    const { out } = translate(
      thought("a"),
      delta("b"),
      { type: "reasoning-end", id: "r", providerMetadata: { anthropic: { signature: "late" } } },
      { type: "text-end", id: "1" },
      finish(),
    );
    expect(out.map(({ type }) => type)).toEqual(["reasoning-delta", "block-end", "text-delta", "content", "block-end", "stop"]);
    expect(out[3]).toMatchObject({ content: { type: "reasoning", text: "", signature: "late" } });
  });
});

describe("tool calls", () => {
  const start = (toolName: string, id = "c"): Part => ({ type: "tool-input-start", id, toolName });
  const input = (value: string, id = "c"): Part => ({ type: "tool-input-delta", id, delta: value });
  const whole = (value: string, toolName = "t"): Part => ({ type: "tool-call", toolCallId: "c", toolName, input: value });
  const started = { type: "tool-call-start", id: "c", name: "t" };
  const got = (value: string) => ({ type: "tool-call-delta", id: "c", delta: value });
  const callParts = (...parts: Part[]) => translate(...parts, finish("tool-calls")).out.slice(0, -1);

  test("inference 6: a name that arrives after its first arguments: start first, then what was held as one delta", () => {
    const expected = [started, got('{"a":1'), got("}")];
    expect(callParts(input('{"a"'), input(":1"), start("t"), input("}"), whole('{"a":1}'))).toEqual(expected);
    expect(callParts(start(""), input('{"a"'), input(":1"), whole('{"a":1}'))).toEqual([started, got('{"a":1}')]);
  });

  test("fragments come through as they are; the whole call adds nothing to them", () => {
    expect(callParts(start("t"), input('{"a":'), input("1}"), { type: "tool-input-end", id: "c" }, whole('{"a":1}'))).toEqual([
      started,
      got('{"a":'),
      got("1}"),
    ]);
  });

  test("a call that only comes whole is a start and one delta", () => {
    expect(callParts(whole('{"a":1}'))).toEqual([started, got('{"a":1}')]);
  });

  test("the rest of a call comes from its whole", () => {
    expect(callParts(start("t"), input('{"a"'), whole('{"a":1}'))).toEqual([started, got('{"a"'), got(":1}")]);
    expect(callParts(start("t"), whole("{}"))).toEqual([started, got("{}")]);
  });

  test("payloads that repeat what was sent become true deltas", () => {
    expect(callParts(start("t"), input('{"city'), input('{"city":"Os'), input('{"city":"Oslo"}'))).toEqual([
      started,
      got('{"city'),
      got('":"Os'),
      got('lo"}'),
    ]);
    expect(callParts(whole('{"a":1'), whole('{"a":1,"b":2}'))).toEqual([started, got('{"a":1'), got(',"b":2}')]);
  });

  test("a nested input that looks like the outer one is a fragment", () => {
    expect(callParts(start("t"), input('{"or":'), input('{"or":1}}'), whole('{"or":{"or":1}}'))).toEqual([
      started,
      got('{"or":'),
      got('{"or":1}}'),
    ]);
  });

  test("an id that comes again is the same call until that is whole, and another one from then on", () => {
    const once = [started, got('{"a":1}')];
    expect(callParts(start("t"), input('{"a":1}'), start("t"), whole('{"a":1}'))).toEqual(once);
    expect(callParts(start("t"), input('{"a":1}'), whole('{"a":1}'), whole('{"a":1}'))).toEqual([...once, ...once]);
    expect(callParts(whole('{"a":1}'), start("t"), input('{"a":1}'), whole('{"a":1}'))).toEqual([...once, ...once]);
  });

  test("a whole that is written otherwise does not send the input twice", () => {
    expect(callParts(start("t"), input('{ "a": 1 }'), whole('{"a":1}'))).toEqual([started, got('{ "a": 1 }')]);
  });

  test("plain text fragments are not JSON: only the whole counts", () => {
    const text: Part = { type: "tool-input-start", id: "c", toolName: "t", inputEncoding: "text" };
    expect(callParts(text, input("say "), input("hi"), whole('"say hi"'))).toEqual([started, got('"say hi"')]);
  });

  test("a call without a name is dropped with a warning", () => {
    expect(callParts(input("{}"))).toEqual([{ type: "warning", message: "tool call 'c' came without a name and was dropped" }]);
  });

  test("the vendor's data comes with the call, once", () => {
    const providerMetadata = { google: { thoughtSignature: "s" } };
    const call: Part[] = [
      { type: "tool-input-start", id: "c", toolName: "t", providerMetadata },
      { type: "tool-input-delta", id: "c", delta: "{}", providerMetadata },
      { type: "tool-call", toolCallId: "c", toolName: "t", input: "{}", providerMetadata },
    ];
    expect(callParts(...call)).toEqual([started, { type: "tool-call-metadata", id: "c", providerMetadata }, got("{}")]);
  });

  test("a call ends the text before it", () => {
    expect(callParts(delta("a"), start("t"), whole("{}"), { type: "text-end", id: "1" }).map(({ type }) => type)).toEqual([
      "text-delta",
      "block-end",
      "tool-call-start",
      "tool-call-delta",
    ]);
  });

  test("calls that the vendor runs, and their results", () => {
    const { out } = translate(
      { type: "tool-input-start", id: "c", toolName: "web", providerExecuted: true },
      { type: "tool-call", toolCallId: "c", toolName: "web", input: "{}", providerExecuted: true },
      { type: "tool-result", toolCallId: "c", toolName: "web", result: { early: true }, preliminary: true },
      { type: "tool-result", toolCallId: "c", toolName: "web", result: { code: 1 }, isError: true, providerMetadata: { a: { b: 1 } } },
      finish("stop"),
    );
    expect(out).toEqual([
      { type: "tool-call-start", id: "c", name: "web", executed: "provider" },
      { type: "tool-call-delta", id: "c", delta: "{}" },
      {
        type: "content",
        content: { type: "tool-result", id: "c", name: "web", output: { code: 1 }, isError: true, providerMetadata: { a: { b: 1 } } },
      },
      STOP,
    ]);
  });
});

describe("whole parts", () => {
  test("files by their media type, as base64 or URL", () => {
    const file = (mediaType: string, data: string | Uint8Array): Part => ({ type: "file", mediaType, data: { type: "data", data } });
    const { out } = translate(
      delta("a"),
      file("image/png", "aGk="),
      file("audio/wav", new Uint8Array([104, 105])),
      { type: "file", mediaType: "application/pdf", data: { type: "url", url: new URL("https://example.com/a.pdf") } },
      { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "aGk=" } },
      finish(),
    );
    expect(out.slice(1, -1)).toEqual([
      { type: "block-end" },
      { type: "content", content: { type: "image", source: { type: "base64", mediaType: "image/png", data: "aGk=" } } },
      { type: "content", content: { type: "audio", source: { type: "base64", mediaType: "audio/wav", data: "aGk=" } } },
      {
        type: "content",
        content: { type: "document", source: { type: "url", mediaType: "application/pdf", url: "https://example.com/a.pdf" } },
      },
      {
        type: "content",
        content: {
          type: "image",
          source: { type: "base64", mediaType: "image/png", data: "aGk=" },
          providerMetadata: { "awaken-reasoning-file": { type: "reasoning-file" } },
        },
      },
    ]);
  });

  test("sources, warnings and what needs no word", () => {
    const { out } = translate(
      {
        type: "stream-start",
        warnings: [
          { type: "unsupported", feature: "topK", details: "not here" },
          { type: "deprecated", setting: "x", message: "use y" },
          { type: "other", message: "careful" },
        ],
      },
      { type: "response-metadata", id: "r" },
      { type: "ping" },
      { type: "raw", rawValue: {} },
      { type: "custom", kind: "anthropic.message_start" },
      { type: "source", sourceType: "url", id: "s", url: "https://example.com" },
      { type: "tool-approval-request", approvalId: "a", toolCallId: "c" },
      finish(),
    );
    expect(out).toEqual([
      { type: "warning", message: "unsupported: topK: not here" },
      { type: "warning", message: "x: use y" },
      { type: "warning", message: "careful" },
      { type: "response", id: "r" },
      { type: "source", source: { sourceType: "url", id: "s", url: "https://example.com" } },
      { type: "warning", message: "the vendor asks to approve its call 'c': not supported" },
      STOP,
    ]);
  });
});

describe("the end", () => {
  const used: LanguageModelV4Usage = {
    inputTokens: { total: 100, noCache: 20, cacheRead: 50, cacheWrite: 30 },
    outputTokens: { total: 40, text: 30, reasoning: 10 },
  };
  const usage = { inputTokens: 100, outputTokens: 40, totalTokens: 140, cacheReadTokens: 50, cacheWriteTokens: 30, reasoningTokens: 10 };

  test("usage with cache and reasoning tokens comes before stop; unknown counts are absent", () => {
    expect(translate({ ...finish(), usage: used }).out).toEqual([{ type: "usage", usage }, STOP]);
    const some = { ...NO_TOKENS, outputTokens: { total: 4, text: undefined, reasoning: undefined } };
    expect(translate({ ...finish(), usage: some }).out[0]).toEqual({
      type: "usage",
      usage: { inputTokens: 0, outputTokens: 4, totalTokens: 4 },
    });
  });

  test.each([
    ["stop", undefined, "end-turn"],
    ["stop", "stop_sequence", "stop-sequence"],
    ["length", "max_tokens", "max-tokens"],
    ["tool-calls", undefined, "tool-use"],
    ["content-filter", "SAFETY", "content-filter"],
    ["other", undefined, "end-turn"],
  ] as const)("finish %s (%s) is stop %s", (unified, raw, reason) => {
    expect(translate(finish(unified, raw)).out).toEqual([{ type: "stop", reason }]);
  });

  test("a vendor that says stop while its calls wait means tool use", () => {
    const call: Part = { type: "tool-call", toolCallId: "c", toolName: "t", input: "{}" };
    expect(translate(call, finish("stop")).out.at(-1)).toEqual({ type: "stop", reason: "tool-use" });
  });

  test("a stream without a finish ends the turn; one without anything is an interruption", () => {
    expect(translate(delta("a")).out.at(-1)).toEqual(STOP);
    expect(translate().reason).toMatchObject({ failure: { type: "stream-interrupted", message: "connection reset" } });
    expect(translate({ type: "stream-start", warnings: [{ type: "other", message: "w" }] }).reason).toBeDefined();
  });

  test("an answer that its vendor calls broken is a failure, after what it cost", () => {
    const interrupted = translate(delta("a"), { ...finish("interrupted"), usage: used });
    expect(interrupted.reason).toMatchObject({ failure: { type: "stream-interrupted" } });
    expect(interrupted.out.at(-1)).toEqual({ type: "usage", usage });
    expect(translate(finish("error", "MALFORMED_FUNCTION_CALL")).reason).toMatchObject({
      failure: { type: "provider", message: "the model stopped because of an error: MALFORMED_FUNCTION_CALL" },
    });
  });

  test("several answers in one stream: all tokens count, the last one says why it stopped", () => {
    const { out } = translate(delta("a"), { ...finish(), usage: used }, delta("b", "2"), { ...finish("length"), usage: used });
    expect(out.map(({ type }) => type)).toEqual(["text-delta", "block-end", "usage", "text-delta", "block-end", "usage", "stop"]);
    expect(out.at(-1)).toEqual({ type: "stop", reason: "max-tokens" });
  });
});

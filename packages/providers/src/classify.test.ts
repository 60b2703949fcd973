import { inspect } from "node:util";
import {
  APICallError,
  InvalidArgumentError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
  TypeValidationError,
} from "@ai-sdk/provider";
import { AwakenError, InferenceError, type InferenceFailureType } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { classify } from "./classify.ts";
import { createScrub } from "./scrub.ts";

const scrub = createScrub([]);

function failureOf(thrown: unknown) {
  const error = classify(thrown, scrub);
  if (!(error instanceof InferenceError)) throw error;
  return error.failure;
}

const api = (statusCode: number | undefined, init: { message?: string; body?: string; headers?: Record<string, string> } = {}) =>
  new APICallError({
    message: init.message ?? "failed",
    url: "http://127.0.0.1/",
    requestBodyValues: { prompt: "the whole prompt" },
    ...(statusCode !== undefined && { statusCode }),
    ...(init.body !== undefined && { responseBody: init.body }),
    ...(init.headers !== undefined && { responseHeaders: init.headers }),
  });

describe("with a status", () => {
  test.each([
    ["5", 5000],
    [" 12 ", 12_000],
    ["0", 0],
    ["1.5", undefined],
    ["-3", undefined],
    ["Wed, 21 Oct 2026 07:28:00 GMT", undefined],
  ])("inference 7: Retry-After %j gives %s ms", (value, retryAfterMs) => {
    const failure = failureOf(api(429, { headers: { "retry-after": value } }));
    expect(failure).toEqual({ type: "rate-limited", message: "failed", ...(retryAfterMs !== undefined && { retryAfterMs }) });
  });

  test("inference 7: without the header there is no hint, and only rate limits and overloads have one", () => {
    expect(failureOf(api(429))).toEqual({ type: "rate-limited", message: "failed" });
    expect(failureOf(api(503, { headers: { "retry-after": "2" } }))).toMatchObject({ type: "overloaded", retryAfterMs: 2000 });
    expect(failureOf(api(500, { headers: { "retry-after": "2" } }))).toEqual({ type: "provider", message: "failed" });
  });

  test.each([
    "prompt is too long",
    "CONTEXT_LENGTH_EXCEEDED",
    "the context length is 8192",
    "Input is too long for this model",
    "exceeds the maximum context length",
    "please reduce the length of the messages",
    "too many tokens",
    "Request too large",
  ])("inference 8: 400 with %j is a context overflow", (text) => {
    expect(failureOf(api(400, { body: JSON.stringify({ error: text }) })).type).toBe("context-overflow");
    expect(failureOf(api(400, { message: text })).type).toBe("context-overflow");
  });

  test("inference 8: another 400 is an invalid request; the body decides over the message", () => {
    expect(failureOf(api(400, { message: "prompt is too long", body: "bad field" })).type).toBe("invalid-request");
    expect(failureOf(api(503)).type).toBe("overloaded");
    expect(failureOf(api(529)).type).toBe("overloaded");
  });

  test("inference 8: a status inside a stream counts, and is permanent where it should be", () => {
    const error = classify({ message: "no", statusCode: 403, data: {} }, scrub);
    expect(error).toMatchObject({ failure: { type: "unauthorized" }, isTransient: false });
  });

  test.each([200, 302, 402, 409, 418, 501])("%i is a provider error", (status) => {
    expect(failureOf(api(status)).type).toBe("provider");
  });
});

describe("without a status", () => {
  const texts: [string, InferenceFailureType][] = [
    ["failed to generate text", "provider"],
    ["temperature must be moderate", "provider"],
    ["the operation is separate", "provider"],
    ["rate limit reached", "rate-limited"],
    ["Rate-limited, try later", "rate-limited"],
    ["rate_limit_error", "rate-limited"],
    ["Too Many Requests", "rate-limited"],
    ["you exceeded your current quota", "rate-limited"],
    ["insufficient_quota", "rate-limited"],
    ["RESOURCE_EXHAUSTED", "rate-limited"],
    ["the model is overloaded", "overloaded"],
    ["Headers Timeout Error", "timeout"],
    ["the request timed out", "timeout"],
    ["connect ETIMEDOUT 10.0.0.1:443", "timeout"],
    ["blocked by safety settings", "content-filtered"],
    ["finish_reason: content_filter", "content-filtered"],
    ["violates our content policy", "content-filtered"],
    ["read ECONNRESET", "provider"],
  ];

  test.each(texts)("inference 9: %j is %s", (text, type) => {
    expect(failureOf(new Error(text))).toEqual({ type, message: text });
  });

  test("the cause of a failed fetch is part of the text", () => {
    const error = new TypeError("terminated", { cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }) });
    expect(failureOf(error).message).toBe("terminated: read ECONNRESET");
    const both = new AggregateError([new Error("connect ECONNREFUSED ::1:9")]);
    expect(failureOf(new TypeError("fetch failed", { cause: both })).message).toBe("fetch failed: connect ECONNREFUSED ::1:9");
  });

  test("plain objects, as older SDK versions put them into streams", () => {
    expect(failureOf({ type: "overloaded_error", message: "Overloaded" })).toEqual({ type: "overloaded", message: "Overloaded" });
    expect(failureOf({ type: "error", error: { type: "authentication_error", message: "no" } })).toEqual({
      type: "unauthorized",
      message: "no",
    });
    expect(failureOf({ error: { code: "context_length_exceeded", message: "long" } }).type).toBe("context-overflow");
    expect(failureOf("plain text").message).toBe("plain text");
    expect(failureOf({ odd: 1 }).message).toBe('{"odd":1}');
    expect(failureOf(undefined).type).toBe("provider");
  });
});

describe("errors of the SDK itself", () => {
  test("are told by their class, not by words that they quote", () => {
    const cause = new Error("x");
    expect(failureOf(new JSONParseError({ text: "content_filter overloaded", cause })).type).toBe("provider");
    expect(failureOf(TypeValidationError.wrap({ value: "rate limit", cause })).type).toBe("provider");
    expect(failureOf(new NoSuchModelError({ modelId: "m", modelType: "languageModel" })).type).toBe("model-not-found");
    expect(failureOf(new LoadAPIKeyError({ message: "OPENAI_API_KEY is missing" })).type).toBe("unauthorized");
    expect(failureOf(new InvalidArgumentError({ argument: "a", message: "bad" })).type).toBe("invalid-request");
  });
});

describe("what is thrown", () => {
  test("errors of ours pass unchanged", () => {
    const own = new InferenceError({ type: "timeout", message: "t" });
    const awaken = new AwakenError("provider_unavailable", "p");
    expect(classify(own, scrub)).toBe(own);
    expect(classify(awaken, scrub)).toBe(awaken);
  });

  test("the cause has name, text and stack, and neither the request nor the response", () => {
    const error = classify(api(500, { body: "the whole response" }), scrub);
    expect(error.cause).toMatchObject({ name: "AI_APICallError", message: "failed" });
    expect(inspect(error, { depth: 9 })).not.toMatch(/the whole/);
  });

  test("secrets are masked in texts, stacks and causes, also in their URL form", () => {
    const key = "s3cr3t/key+";
    const cause = new Error(`inner ${key}`, { cause: new Error(`innermost ${encodeURIComponent(key)}`) });
    const error = classify(new Error(`outer ${key}`, { cause }), createScrub([key]));
    const shown = `${inspect(error, { depth: 9 })} ${JSON.stringify(error)} ${error.stack}`;
    expect(shown).not.toContain(key);
    expect(shown).not.toContain(encodeURIComponent(key));
    expect(error.message).toBe("outer ***: inner ***: innermost ***");
  });

  test("a text is cut only after the secrets are out, and forms of a secret are found too", () => {
    const key = 'key"with\nquote ';
    const clean = createScrub([key]);
    const { message } = classify(new Error("x".repeat(1995) + key), clean);
    expect(message).toBe(`${"x".repeat(1995)}***`);
    expect(classify(new Error("y".repeat(3000)), clean).message).toHaveLength(2001);
    expect(clean(`a ${key.trim()}! ${JSON.stringify(key)} ${encodeURIComponent(key)}`)).toBe('a ***! "***" ***');
  });

  test("placeholders that are too short to be a secret are left alone", () => {
    expect(createScrub(["x", ""])("extra")).toBe("extra");
  });
});

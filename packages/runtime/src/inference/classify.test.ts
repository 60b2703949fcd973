import { InferenceError } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { classify, classifyHttp, classifyText } from "./classify.ts";
import { failureText } from "./failure-text.ts";

const http = (status: number, body = "", headers: Record<string, string> = {}) =>
  Object.assign(new Error(`HTTP ${status}`), { statusCode: status, responseBody: body, responseHeaders: headers });

describe("classify", () => {
  it("inference 7: reads Retry-After in whole seconds and ignores dates", () => {
    expect(classify(http(429, "", { "Retry-After": "5" }))).toMatchObject({ type: "rate-limited", retryAfterMs: 5000 });
    for (const headers of [{ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, { "retry-after": "1.5" }, {}]) {
      expect(classify(http(429, "", headers))).toEqual({ type: "rate-limited", message: "HTTP 429" });
    }
    const web = Object.assign(new Error("busy"), { status: 503, headers: new Headers({ "Retry-After": "7" }) });
    expect(classify(web)).toEqual({ type: "overloaded", message: "busy", retryAfterMs: 7000 });
  });

  it("inference 8: maps statuses, and a 400 by its body", () => {
    expect(classify(http(400, "Prompt Is Too Long: 210000 tokens")).type).toBe("context-overflow");
    expect(classify(http(400, '{"error":{"code":"context_length_exceeded"}}')).type).toBe("context-overflow");
    expect(classify(http(400, "bad temperature")).type).toBe("invalid-request");
    expect(classifyHttp({ status: 400, message: "maximum context length is 8192" }).type).toBe("context-overflow");
    const byStatus = [401, 403, 404, 408, 413, 418, 422, 429, 500, 502, 503, 504, 529].map((status) => classify(http(status)).type);
    expect(byStatus).toEqual([
      "unauthorized",
      "unauthorized",
      "model-not-found",
      "timeout",
      "context-overflow",
      "provider",
      "invalid-request",
      "rate-limited",
      "provider",
      "provider",
      "overloaded",
      "timeout",
      "overloaded",
    ]);
  });

  it("inference 9: takes no word with 'rate' in it for a rate limit", () => {
    for (const text of ["could not generate an answer", "temperature out of range", "separate requests", "operate"]) {
      expect(classifyText(text)).toBe("provider");
    }
    for (const text of ["Rate limit reached", "rate_limit_error", "rate-limited", "ratelimited", "Too Many Requests"]) {
      expect(classifyText(text)).toBe("rate-limited");
    }
  });

  it("judges by the text when there is no status", () => {
    expect(classifyText("finish: content_filter")).toBe("content-filtered");
    expect(classifyText("Overloaded")).toBe("overloaded");
    expect(classifyText("socket timed out")).toBe("timeout");
    expect(classify("boom")).toEqual({ type: "provider", message: "boom" });
    expect(classify({ type: "error", error: { type: "overloaded_error" } }).type).toBe("overloaded");
    expect(classify(undefined).type).toBe("provider");
  });

  it("looks at what caused the error", () => {
    const reset = Object.assign(new Error("read failed"), { code: "ECONNRESET" });
    expect(classify(new TypeError("fetch failed", { cause: reset })).message).toBe("fetch failed: read failed: ECONNRESET");
    expect(classify(new Error("gave up", { cause: http(401) })).type).toBe("unauthorized");
    const inner = new InferenceError({ type: "model-not-found", message: "no such model" });
    expect(classify(new Error("wrapped", { cause: inner }))).toBe(inner.failure);
  });

  it("knows an inference error of another copy of the package", () => {
    const failure = { type: "overloaded", message: "full", retryAfterMs: 3 };
    expect(classify(Object.assign(new Error("full"), { name: "InferenceError", failure }))).toEqual(failure);
    const odd = Object.assign(new Error("odd"), { name: "InferenceError", failure: { type: "nonsense", message: "x" } });
    expect(classify(odd)).toEqual({ type: "provider", message: "odd" });
  });
});

describe("failureText", () => {
  it("is stable, and adds its words only once", () => {
    expect(failureText({ type: "rate-limited", message: "slow down" })).toBe("rate limited: slow down");
    expect(failureText({ type: "provider", message: "provider error: x" })).toBe("provider error: x");
    expect(failureText({ type: "stream-interrupted", message: "goaway" })).toBe("stream interrupted (goaway)");
    expect(failureText({ type: "stream-interrupted", message: "stream interrupted (goaway)" })).toBe("stream interrupted (goaway)");
    expect(failureText({ type: "pool-attempts-exhausted", message: "" })).toBe("pool attempts exhausted");
  });

  it("shows no key that a vendor or an address repeats", () => {
    const key = "sk-proj-abcdefghijklmnop";
    const echoes = [
      `Incorrect API key provided: ${key}.`,
      `header was "Authorization: Bearer ${key}"`,
      "GET https://example.test/v1?key=abcdefghijklmnop&x=1 failed",
      'api_key="abcdefghijklmnop" is not valid',
      "AIzaSyAabcdefghijklmnop is not valid",
    ];
    for (const message of echoes) {
      expect(failureText({ type: "unauthorized", message })).not.toMatch(/abcdefghijklmnop/);
    }
    expect(failureText({ type: "provider", message: "unknown key: response_format" })).toContain("response_format");
    expect(failureText({ type: "provider", message: "max_tokens: 4096 is too many tokens: reduce" })).toContain("4096 is too many tokens");
  });
});

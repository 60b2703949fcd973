import { describe, expect, it } from "vitest";
import { DEFAULT_INFERENCE_POLICY, readPolicy } from "./policy.ts";

describe("readPolicy", () => {
  it("has the defaults without a section", () => {
    expect(readPolicy(undefined, 1)).toEqual({ ...DEFAULT_INFERENCE_POLICY, maxContinuationRetries: 1 });
    expect(DEFAULT_INFERENCE_POLICY).toEqual({
      maxRetries: 2,
      backoffBaseMs: 500,
      overloadedBackoffBaseMs: 2000,
      maxStreamRetries: 2,
      streamIdleTimeoutMs: 60_000,
      openTimeoutMs: 120_000,
      maxRetryAfterMs: 60_000,
      maxContinuationRetries: 2,
    });
  });

  it("reads a section and fills in the rest", () => {
    expect(readPolicy({ maxRetries: 0, streamIdleTimeoutSecs: 5 }, 2)).toEqual({
      ...DEFAULT_INFERENCE_POLICY,
      maxRetries: 0,
      streamIdleTimeoutMs: 5000,
    });
    expect(readPolicy({ openTimeoutSecs: 7, maxRetryAfterSecs: 0 }, 2)).toEqual({
      ...DEFAULT_INFERENCE_POLICY,
      openTimeoutMs: 7000,
      maxRetryAfterMs: 0,
    });
    expect(readPolicy({}, 2)).toEqual(DEFAULT_INFERENCE_POLICY);
  });

  it("registry-and-runtime 57: a section with fields left out takes their defaults, whichever they are", () => {
    expect(readPolicy({}, 2)).toEqual(DEFAULT_INFERENCE_POLICY);
    expect(readPolicy({ streamIdleTimeoutSecs: 1 }, 2)).toEqual({ ...DEFAULT_INFERENCE_POLICY, streamIdleTimeoutMs: 1000 });
    expect(readPolicy({ maxRetries: null, backoffBaseMs: 7 }, 2)).toEqual({ ...DEFAULT_INFERENCE_POLICY, backoffBaseMs: 7 });
  });

  it("refuses what it does not understand", () => {
    const problems: [Parameters<typeof readPolicy>[0], RegExp][] = [
      [{ maxRetries: 1, retries: 2 }, /retries: is an unknown field$/],
      [{ maxRetryAfterSecs: -1 }, /maxRetryAfterSecs: must be at least 0, got -1$/],
      [{ maxRetrys: 2 }, /maxRetrys: is an unknown field: did you mean 'maxRetries'\?/],
      [{ maxRetries: -1 }, /maxRetries: must be at least 0, got -1$/],
      [{ maxRetries: 1.5 }, /maxRetries: must be an integer, got 1.5$/],
      [{ maxRetries: "2" }, /maxRetries: must be an integer, got a string$/],
      [{ retries: null }, /retries: is an unknown field/],
      [[], /must be an object, got an array$/],
      [null, /must be an object, got null$/],
    ];
    for (const [section, problem] of problems) expect(() => readPolicy(section, 2)).toThrow(problem);
  });
});

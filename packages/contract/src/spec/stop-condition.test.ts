import { describe, expect, it } from "vitest";
import { parseAgentSpec } from "./agent.ts";
import { compileContentPattern, type StopCondition } from "./stop-condition.ts";

const parse = (...stopConditions: readonly unknown[]) => parseAgentSpec("a", { stopConditions });

describe("stop condition", () => {
  it("takes each kind up to its limit", () => {
    const stopConditions: readonly StopCondition[] = [
      { type: "max-steps", steps: 3 },
      { type: "timeout", seconds: 86_400 },
      { type: "token-budget", maxTotal: 100_000_000 },
      { type: "consecutive-errors", max: 2 },
      { type: "stop-on-tool", toolName: "finish" },
      { type: "content-match", pattern: "a".repeat(1_024) },
      { type: "loop-detection", window: 64 },
    ];
    expect(parse(...stopConditions)).toMatchObject({ stopConditions });
  });

  it.each([
    { type: "timeout", seconds: 0 },
    { type: "content-match", pattern: "" },
    { type: "loop-detection", window: 0 },
  ])("core-execution 6.4: %j is valid and disables the condition", (condition) => {
    expect(parse(condition)).toMatchObject({ stopConditions: [condition] });
  });

  it.each([
    [{ type: "timeout", seconds: 86_401 }, "timeout.seconds must be <= 86400, got 86401"],
    [{ type: "token-budget", maxTotal: 100_000_001 }, "token-budget.maxTotal must be <= 100000000, got 100000001"],
    [{ type: "loop-detection", window: 65 }, "loop-detection.window must be <= 64, got 65"],
    [{ type: "content-match", pattern: "a".repeat(1_025) }, "content-match.pattern must be <= 1024 characters, got 1025"],
    [{ type: "content-match", pattern: "(" }, "content-match.pattern must be a regular expression: "],
    [{ type: "timeout", seconds: -1 }, "field 'stopConditions.0.seconds' must be at least 0, got -1"],
    [{ type: "timeout", seconds: Number.NaN }, "field 'stopConditions.0.seconds' must be an integer, got NaN"],
    [{ type: "timeout", seconds: 1, minutes: 1 }, "unknown field 'stopConditions.0.minutes'"],
    [{ type: "timeout" }, "field 'stopConditions.0.seconds' is required"],
    [{ type: "stop-on-tool", toolName: "" }, "field 'stopConditions.0.toolName' cannot be empty"],
    [{ type: "max_rounds", rounds: 1 }, "field 'stopConditions.0.type' must be one of 'max-steps', 'timeout'"],
    [{}, "field 'stopConditions.0.type' must be one of"],
    ["timeout", "field 'stopConditions.0' must be an object, got a string"],
  ])("refuses %j", (condition, problem) => {
    expect(() => parse(condition)).toThrow(`invalid agent spec: ${problem}`);
  });

  it("does not compile a pattern that is too long", () => {
    const tooLong = { type: "content-match", pattern: "(".repeat(2_000) };
    expect(() => parse(tooLong)).toThrow("invalid agent spec: content-match.pattern must be <= 1024 characters, got 2000 (agent 'a')");
  });

  it("matches by characters, not by halves of them", () => {
    expect(compileContentPattern("^.$").test("🙂")).toBe(true);
  });
});

describe("context policy", () => {
  it("has the defaults of the specification", () => {
    expect(parseAgentSpec("a", { contextPolicy: {} })).toHaveProperty("contextPolicy", {
      maxContextTokens: 200_000,
      maxOutputTokens: 16_384,
      minRecentMessages: 10,
      enablePromptCache: true,
      compactionMode: "keep-recent-raw-suffix",
      compactionRawSuffixMessages: 2,
    });
  });

  it("is not there unless it is written", () => {
    expect(parseAgentSpec("a", {})).not.toHaveProperty("contextPolicy");
  });

  it.each([
    [{ compactionMode: "keep_recent_raw_suffix" }, "'contextPolicy.compactionMode' must be one of 'keep-recent-raw-suffix', 'compact-to"],
    [{ maxContextTokens: 0 }, "field 'contextPolicy.maxContextTokens' must be greater than zero"],
    [{ enablePromptCache: "yes" }, "field 'contextPolicy.enablePromptCache' must be true or false, got a string"],
    [{ autocompactThreshold: null }, "field 'contextPolicy.autocompactThreshold' must be an integer, got null"],
  ])("refuses %j", (contextPolicy, problem) => {
    expect(() => parseAgentSpec("a", { contextPolicy })).toThrow(problem);
  });
});

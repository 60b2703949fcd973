import { describe, expect, it } from "vitest";
import { AwakenError } from "../error.ts";
import { compileToolPattern, toolPatternProblem } from "./tool-pattern.ts";

describe("tool pattern", () => {
  it.each([
    ["foo*bar", true],
    ["fooxbar", false],
    ["foo\\*bar", false],
    ["foobar", false],
    ["xfoo*bar", false],
    ["foo*barx", false],
  ])("registry-and-runtime 20: foo\\*bar against %s is %s", (id, matches) => {
    expect(compileToolPattern("foo\\*bar")(id)).toBe(matches);
  });

  it.each([
    ["mcp:*", "mcp:weather/forecast", true],
    ["mcp:*", "xmcp:y", false],
    ["a*b", "a/b", true],
    ["a*b", "a_:b", true],
    ["a*b", "ab", true],
    ["a*b", "acb/", false],
    ["*", "", true],
    ["*", "anything", true],
    ["tool?id", "toolXid", false],
    ["tool?id", "tool?id", true],
    ["[ab]", "a", false],
    ["Bash(npm *)", "Bash", false],
    ["/B.*/", "Bash", false],
    ["Bash", "bash", false],
    ["Bash", "Bash", true],
    ["a*b*c", "a1b2c", true],
    ["a*b*c", "a1c2b", false],
    ["*ab*ab*", "ab", false],
    ["*ab*ab*", "xabab", true],
    ["aba*aba", "aba", false],
    ["aba*aba", "abaaba", true],
    ["a*ba*a", "aba", false],
    ["\\\\x", "\\x", true],
    ["\\x", "x", true],
  ])("extensions 1: %s against %s is %s", (pattern, id, matches) => {
    expect(compileToolPattern(pattern)(id)).toBe(matches);
  });

  it.each([
    ["", "pattern is empty"],
    ["\\", "pattern ends with a dangling escape (`\\`)"],
    ["a*\\", "pattern ends with a dangling escape (`\\`)"],
    ["a\\\\\\", "pattern ends with a dangling escape (`\\`)"],
  ])("extensions 2: refuses %j", (pattern, problem) => {
    expect(toolPatternProblem(pattern)).toBe(problem);
    expect(() => compileToolPattern(pattern)).toThrow(problem);
    expect(() => compileToolPattern(pattern)).toThrow(AwakenError);
  });

  it("has nothing against an escaped backslash at the end", () => {
    expect(toolPatternProblem("a\\\\")).toBeUndefined();
    expect(compileToolPattern("a\\\\")("a\\")).toBe(true);
  });

  it("comes to an end with a pattern that a backtracking matcher would never be done with", () => {
    const matches = compileToolPattern(`${"a*".repeat(5_000)}b`);
    expect(matches("a".repeat(20_000))).toBe(false);
    expect(matches(`${"a".repeat(20_000)}cb`)).toBe(true);
  });
});

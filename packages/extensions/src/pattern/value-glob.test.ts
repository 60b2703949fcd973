import { describe, expect, it, test } from "vitest";
import { compileValueGlob } from "./value-glob.ts";

const match = (glob: string, text: string): boolean => compileValueGlob(glob)(text);

describe("the value glob", () => {
  test("extensions 10: `*denied*` matches `open /etc/passwd: denied`", () => {
    expect(match("*denied*", "open /etc/passwd: denied")).toBe(true);
    expect(match("*denied*", "/a/denied/b")).toBe(true);
    expect(match("*denied*", "/a/b")).toBe(false);
  });

  test("extensions 11: `src/**/*.ts` matches `src/a.ts` and `src/b/a.ts`, not `test/a.ts`", () => {
    expect(["src/a.ts", "src/b/a.ts", "src/b/c/a.ts"].map((path) => match("src/**/*.ts", path))).toEqual([true, true, true]);
    expect(["test/a.ts", "src/a.js", "srca.ts", "src.ts"].map((path) => match("src/**/*.ts", path))).toEqual([false, false, false, false]);
    expect(match("a/**/**/b", "a/b")).toBe(true);
    expect(match("**/b", "b")).toBe(false);
  });

  it("is whole-string, case-sensitive, and counts code points", () => {
    expect(match("a?c", "a🙂c")).toBe(true);
    expect(match("a??c", "a🙂c")).toBe(false);
    expect(match("[à-ü]*", "écrit")).toBe(true);
    expect(match("[!a]", "🙂")).toBe(true);
    expect(match("[]a]", "]")).toBe(true);
    expect(match("[a-]", "-")).toBe(true);
    expect(match("[*]x", "*x")).toBe(true);
    expect(match("[*]x", "ax")).toBe(false);
    expect([match("Abc", "abc"), match("abc", "abcd"), match("", ""), match("*", "")]).toEqual([false, false, true, true]);
    expect(match("a\\b", "a\\b")).toBe(true);
  });

  it("refuses a class without its end, a range that runs backwards, and more than 1,000 characters, with the position", () => {
    const invalid = (position: number, message: string) =>
      expect.objectContaining({
        code: "invalid_pattern",
        message: expect.stringContaining(message),
        details: expect.objectContaining({ position }),
      });
    expect(() => compileValueGlob("ab[c")).toThrow(invalid(2, "parse error at 2: a class without its ]"));
    expect(() => compileValueGlob("[z-a]")).toThrow(invalid(1, "parse error at 1: the range of a class runs backwards"));
    expect(() => compileValueGlob("x".repeat(1_001))).toThrow(invalid(0, "longer than 1000 characters"));
    expect(match("x".repeat(1_000), "x".repeat(1_000))).toBe(true);
  });

  it("no pattern makes it hang: the worst ones on a long text", () => {
    const text = `${"a".repeat(10_000)}b`;
    for (const glob of ["*a".repeat(500), "a/**/".repeat(200), "[a-b]*".repeat(160), `${"?*".repeat(500)}`, "**a**".repeat(200)]) {
      match(glob, text);
    }
    expect(match(`${"*a".repeat(400)}c`, text)).toBe(false);
  });
});

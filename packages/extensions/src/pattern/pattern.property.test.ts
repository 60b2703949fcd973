import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileToolCallPattern } from "./compile-tool-call.ts";
import { parseToolCallPattern } from "./parse-tool-call.ts";
import { OPERATORS, type PathSegment, printToolCallPattern, type ToolCallPattern } from "./tool-call-pattern.ts";
import { compileValueGlob } from "./value-glob.ts";

const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,6}$/);
const part = fc.constantFrom("a", "b", "*", "?", "[ab]", "[!a]", "/", "**", "/**/", "é", "🙂", ".", " ", "x", '"', "\\");
const glob = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
const regex = fc
  .array(fc.constantFrom("a", "b", "x+", "[ab]", "(a|b)", "\\d", "^", "$", "\\/", ".", "é"), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(""));

const segment: fc.Arbitrary<PathSegment> = fc.oneof(
  name.map((key) => ({ type: "key", key }) as const),
  fc.constant({ type: "any-key" } as const),
);
const inner: fc.Arbitrary<PathSegment> = fc.oneof(
  segment,
  fc.nat(20).map((index) => ({ type: "index", index }) as const),
  fc.constant({ type: "any-index" } as const),
);
const path = fc.tuple(segment, fc.array(inner, { maxLength: 3 })).map(([first, rest]) => [first, ...rest]);

const condition = fc.oneof(
  fc.record({ path, op: fc.constantFrom("exact", "not-exact" as const), value: fc.string({ unit: "grapheme" }) }),
  fc.record({ path, op: fc.constantFrom("glob", "not-glob" as const), value: glob }),
  fc.record({ path, op: fc.constantFrom("regex", "not-regex" as const), value: regex }),
);

const pattern: fc.Arbitrary<ToolCallPattern> = fc.record({
  tool: fc.oneof(
    name.map((id) => ({ type: "exact", id }) as const),
    name.map((text) => ({ type: "glob", glob: `${text}*` }) as const),
    regex.map((source) => ({ type: "regex", source }) as const),
  ),
  args: fc.oneof(
    fc.constant({ type: "any" } as const),
    fc
      .stringMatching(/^[a-z]{1,5}( [a-z*?()]{1,5})?$/)
      .filter(isBalanced)
      .map((text) => ({ type: "primary", glob: text }) as const),
    fc.array(condition, { minLength: 1, maxLength: 3 }).map((conditions) => ({ type: "fields", conditions }) as const),
  ),
});

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

/** The glob as an expression of the native engine: a second opinion, for short texts. */
function asRegExp(text: string): RegExp {
  const source = text
    .replace(/\*{2,}/g, "**")
    .replace(/[.+^${}()|\\]/g, "\\$&")
    .replace(/\[!/g, "[^")
    .replace(/(?<=\/)\*\*\//g, "\u0001")
    .replace(/\*+/g, "[^]*")
    .replaceAll("?", "[^]")
    .replaceAll("\u0001", "(?:[^]*/)?");
  return new RegExp(`^${source}$`, "u");
}

describe("patterns", () => {
  test("extensions 14: parse(print(p)) equals p, for every pattern", () => {
    fc.assert(
      fc.property(pattern, (one) => {
        expect(parseToolCallPattern(printToolCallPattern(one))).toEqual(one);
      }),
      { numRuns: 3_000 },
    );
  });

  test("whatever a user types is read or refused with a position, and what is read is printed as it would be read again", () => {
    const typed = fc.array(
      fc.constantFrom("T", "(", ")", '"', "'", "a", " ", "=", "~", "!", "*", "[", "]", ".", ",", "/", "\\", "\u00a0", "0", "-"),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(typed, (parts) => {
        const text = parts.join("");
        let read: ToolCallPattern;
        try {
          read = parseToolCallPattern(text);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "invalid_pattern", details: { position: expect.any(Number) } });
          return;
        }
        const printed = printToolCallPattern(read);
        expect(parseToolCallPattern(printed)).toEqual(read);
        expect(compileToolCallPattern(text).key).toBe(compileToolCallPattern(printed).key);
      }),
      { numRuns: 20_000 },
    );
  });

  test("globs match as the native engine says", () => {
    const text = fc
      .array(fc.constantFrom("a", "b", "x", "/", "é", "🙂", ".", " ", "\\", '"'), { maxLength: 8 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(glob, text, (one, value) => {
        expect([one, value, compileValueGlob(one)(value)]).toEqual([one, value, asRegExp(one).test(value)]);
      }),
      { numRuns: 20_000 },
    );
  });

  test("no input makes the matcher hang: it answers, or refuses, after a bounded number of steps", () => {
    const long = "a".repeat(50_000);
    for (const source of ["(a|a)+$", "a*a*a*a*a*a*b", "(aa?){30}b", "[a-z]+x[a-z]+y", "a{0,500}b"]) {
      const { matches } = compileToolCallPattern(`/${source}/`);
      try {
        matches(long, {});
      } catch (thrown) {
        expect(String(thrown)).toContain("too many steps");
      }
    }
    const deep = compileToolCallPattern(`T(${"*.".repeat(200)}x = "y")`);
    expect(deep.matches("T", { a: { b: "c" } })).toBe(false);
  });

  test("all six operators are printed and read", () => {
    for (const op of OPERATORS) {
      const one = {
        tool: { type: "exact", id: "T" },
        args: { type: "fields", conditions: [{ path: [{ type: "key", key: "a" }], op, value: "x" }] },
      } as const;
      expect(parseToolCallPattern(printToolCallPattern(one))).toEqual(one);
    }
  });
});

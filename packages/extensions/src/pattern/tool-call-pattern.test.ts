import type { JsonValue } from "@awaken/contract";
import { describe, expect, it, test } from "vitest";
import { compileToolCallPattern } from "./compile-tool-call.ts";
import { parseToolCallPattern } from "./parse-tool-call.ts";
import { impossiblePaths } from "./schema-paths.ts";
import { compareSpecificity, printToolCallPattern } from "./tool-call-pattern.ts";

const match = (pattern: string, tool: string, input: JsonValue = {}): boolean => compileToolCallPattern(pattern).matches(tool, input);
const keyOf = (pattern: string): string => compileToolCallPattern(pattern).key;

const problem = (position: number, message: string) =>
  expect.objectContaining({
    code: "invalid_pattern",
    message: expect.stringContaining(`parse error at ${position}: ${message}`),
    details: expect.objectContaining({ position }),
  });

describe("tool-call patterns", () => {
  test("extensions 4: `Bash(npm *)` matches a single-key object by its value and a two-key object only by its whole JSON text", () => {
    expect(match("Bash(npm *)", "Bash", { command: "npm install" })).toBe(true);
    expect(match("Bash(npm *)", "Bash", { command: "npm i", cwd: "/" })).toBe(false);
    expect(match('Bash({"command":"npm i"*)', "Bash", { cwd: "/", command: "npm i" })).toBe(true);
    expect(match("Bash(npm *)", "Shell", { command: "npm install" })).toBe(false);
    expect(match("T(1)", "T", { n: 1 })).toBe(true);
    expect([match("T(true)", "T", { b: true }), match("T([[]1,2])", "T", { l: [1, 2] }), match("T([[]])", "T", [])]).toEqual([
      true,
      true,
      true,
    ]);
  });

  test("extensions 5: `Bash(*)` and `Bash` are the same rule and have the same key", () => {
    expect([keyOf("Bash"), keyOf("Bash(*)"), keyOf(" Bash ( * ) ")]).toEqual(["tool:Bash", "tool:Bash", "tool:Bash"]);
    expect(keyOf('Bash( a="b",c ~"d" )')).toBe('pattern:Bash(a = "b", c ~ "d")');
    expect(match("Bash", "Bash", { command: "ls" })).toBe(true);
  });

  test("extensions 6: `/read/` matches `thread_read_x` (unanchored); `/^read/` does not", () => {
    expect([match("/read/", "thread_read_x"), match("/^read/", "thread_read_x"), match("/^(read|list)_/", "read_file")]).toEqual([
      true,
      false,
      true,
    ]);
    expect(match("/a\\/b/", "x:a/b")).toBe(true);
    expect(match("mcp__github__*", "mcp__github__create_issue")).toBe(true);
    expect(match("mcp__[!g]*", "mcp__github__create_issue")).toBe(false);
  });

  test('extensions 7: `T(a != "x")` is false when `a` is missing', () => {
    for (const op of ["!=", "!~", "!=~", "=", "~", "=~"]) expect(match(`T(a ${op} "x")`, "T", { b: "y" })).toBe(false);
    expect([match('T(a != "x")', "T", { a: "y" }), match('T(a != "x")', "T", { a: "x" }), match('T(a != "")', "T", { a: null })]).toEqual([
      true,
      false,
      false,
    ]);
    expect(match('T(constructor != "x")', "T", { a: 1 })).toBe(false);
    expect(match('Edit(file_path !~ "src/*")', "Edit", {})).toBe(false);
  });

  test('extensions 8: `T(items[*] = "x")` is true if any item equals `x`; `T(items[*] != "x")` is true if any item differs', () => {
    const given = (...items: string[]) => ({ items });
    expect([match('T(items[*] = "x")', "T", given("y", "x")), match('T(items[*] = "x")', "T", given("y"))]).toEqual([true, false]);
    expect([match('T(items[*] != "x")', "T", given("y", "x")), match('T(items[*] != "x")', "T", given("x"))]).toEqual([true, false]);
    expect(match('T(items[*] != "x")', "T", given())).toBe(false);
    expect(match('Multi(edits[*].path = "x")', "Multi", { edits: [{ path: "y" }, { path: "x" }] })).toBe(true);
    expect(match('T(*.name = "a")', "T", { p: { name: "a" } })).toBe(true);
    expect([
      match('T(a[1].b = "2")', "T", { a: [{ b: 1 }, { b: 2 }] }),
      match('T(a[0].b = "2")', "T", { a: [{ b: 1 }, { b: 2 }] }),
    ]).toEqual([true, false]);
  });

  test('extensions 9: `T(a ~ "x", b = "y")` needs both', () => {
    expect(match('T(a ~ "x", b = "y")', "T", { a: "x", b: "y" })).toBe(true);
    expect([match('T(a ~ "x", b = "y")', "T", { a: "x" }), match('T(a ~ "x", b = "y")', "T", { a: "x", b: "z" })]).toEqual([false, false]);
    expect(match('Bash(command ~ "rm *")', "Bash", { command: "rm -rf /", cwd: "/" })).toBe(true);
  });

  test('extensions 12: `T(file-path ~ "x")` is a field condition; `Bash(FOO=bar cmd)` is a primary glob', () => {
    expect(parseToolCallPattern('T(file-path ~ "x")').args).toEqual({
      type: "fields",
      conditions: [{ path: [{ type: "key", key: "file-path" }], op: "glob", value: "x" }],
    });
    expect(parseToolCallPattern("Bash(FOO=bar cmd)").args).toEqual({ type: "primary", glob: "FOO=bar cmd" });
    expect(parseToolCallPattern("Bash(f(x) (y))").args).toEqual({ type: "primary", glob: "f(x) (y)" });
  });

  test("extensions 13: single-quoted values and uncompilable regexes are parse errors with a position", () => {
    expect(() => parseToolCallPattern("Bash(command ~ 'rm *')")).toThrow(problem(15, "a value stands in double quotes"));
    expect(() => parseToolCallPattern("/a(/")).toThrow(problem(1, "no regular expression"));
    expect(() => parseToolCallPattern('T(a =~ "[")')).toThrow(problem(8, "no regular expression"));
    expect(() => parseToolCallPattern("//")).toThrow(problem(1, "an empty regular expression"));
  });

  it.each([
    ["", 0, "the pattern is empty"],
    ["   ", 3, "the pattern is empty"],
    ["(x)", 0, "the name of a tool is missing"],
    ["T()", 2, "nothing stands in the parentheses"],
    ['T(a = "x)', 6, "a string without its end"],
    ["/read", 0, "a regular expression without its /"],
    ["T(npm *", 1, "a ) is missing"],
    ["T(f(x)", 1, "a ) is missing"],
    ['T(a = "x"', 1, "a ) is missing"],
    ["T(x) y", 5, "trailing characters"],
    ["T y", 2, "trailing characters"],
    ['T(a == "x")', 4, "unknown operator"],
    ['T(a = "x" b = "y")', 10, "a , or ) is expected"],
    ['T(a = "x", )', 11, "the path of a field is missing"],
    ['T(a ~ "[x")', 7, "a class without its ]"],
    ["  T[b", 3, "a class without its ]"],
    ["x".repeat(1_001), 0, "longer than 1000 characters"],
  ])("refuses %j at %i: %s", (pattern, position, message) => {
    expect(() => parseToolCallPattern(pattern)).toThrow(problem(position, message));
  });

  it.each([
    ["/(a+)+$/", 4, "a repeat of a repeat without a limit"],
    ["/((a|b*)c){2,}/", 9, "a repeat of a repeat without a limit"],
    ["/a(?=b)/", 2, "look-around"],
    ["/(?<!a)b/", 1, "look-around"],
    ["/(a)\\1/", 4, "a back-reference"],
    ["/(?<n>a)\\k<n>/", 8, "a back-reference"],
  ])("refuses the regular expression %s at %i: %s", (pattern, position, message) => {
    expect(() => parseToolCallPattern(pattern)).toThrow(problem(position, message));
  });

  it("takes repeats beside each other, limited repeats of repeats, and escaped and bracketed signs", () => {
    expect(match("/^a+b*(c+){2}[+*(]+\\(\\++$/", "aabccc+(*(++")).toBe(true);
  });

  test("extensions 15: exact beats glob beats regex; then with-arguments beats any; then more conditions; then operator precision", () => {
    const ordered = [
      "/x/",
      "/x/(y)",
      "x*",
      "x*(y)",
      "x",
      'x(a =~ "y")',
      'x(a ~ "y")',
      'x(a = "y")',
      'x(a =~ "y", b =~ "z")',
      'x(a ~ "y", b =~ "z")',
    ];
    for (const [index, lower] of ordered.entries()) {
      for (const higher of ordered.slice(index + 1)) {
        expect([lower, higher, compareSpecificity(parseToolCallPattern(higher), parseToolCallPattern(lower)) > 0]).toEqual([
          lower,
          higher,
          true,
        ]);
      }
    }
    expect(compareSpecificity(parseToolCallPattern("x(y)"), parseToolCallPattern('x(a !~ "y")'))).toBe(0);
  });

  it("tells which paths no input of a schema has", () => {
    const schema = {
      type: "object",
      properties: {
        path: { type: "string" },
        edits: { type: "array", items: { type: "object", properties: { old: {} }, additionalProperties: false } },
        env: { type: "object", properties: {}, additionalProperties: { type: "object", properties: { name: {} } } },
        free: { type: "object" },
      },
    };
    const check = (pattern: string) => impossiblePaths(parseToolCallPattern(pattern), schema);
    expect(check('T(pth = "x", edits[*].old = "x", edits[0].new = "x")')).toEqual(["pth", "edits[0].new"]);
    expect(check('T(env.HOME.name = "x", env.*.nam = "x", free.any.thing = "x", *.old = "x")')).toEqual(["env.*.nam"]);
    expect(check('T(edits.old = "x", path[0] = "x")')).toEqual(["edits.old"]);
    expect(check("T(x)")).toEqual([]);
  });

  test("extensions 14: parse(print(p)) equals p for values with quotes, backslashes and non-ASCII text", () => {
    for (const value of ['say "hi"', "C:\\temp\\", '\\"', "\\\\", "naïve 🙂 \u2028", "(a) , b", "\\d+\\w"]) {
      const pattern = {
        tool: { type: "exact", id: "T" },
        args: { type: "fields", conditions: [{ path: [{ type: "key", key: "a" }], op: "exact", value }] },
      } as const;
      expect(parseToolCallPattern(printToolCallPattern(pattern))).toEqual(pattern);
    }
    expect(parseToolCallPattern('T(a = "\\d\\"\\\\")').args).toMatchObject({ conditions: [{ value: '\\d"\\' }] });
  });
});

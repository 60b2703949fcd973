import { describe, expect, it } from "vitest";
import { tokenize } from "./tokenize.ts";

const kinds = (source: string): string[] => tokenize(source).map(({ kind, text }) => `${kind}:${text}`);
const regexes = (source: string): string[] => tokenize(source).flatMap(({ kind, text }) => (kind === "regex" ? [text] : []));

describe("tokenize", () => {
  it("drops comments and keeps line numbers", () => {
    const tokens = tokenize("#!/usr/bin/env node\n/* a\n * b */ x // y\nz");
    expect(tokens).toEqual([
      { kind: "word", text: "x", line: 3 },
      { kind: "word", text: "z", line: 4 },
    ]);
  });

  it("reads strings with escapes and comment signs", () => {
    expect(kinds(String.raw`"a\"// b" '\'/*'`)).toEqual([String.raw`string:a\"// b`, String.raw`string:\'/*`]);
  });

  it("reads code inside template substitutions, nested", () => {
    expect(kinds(`\`a { \${f(\`b\${c}\`, { d: 1 })} } $5\` + e`)).toEqual([
      ...["template:a { ", "punct:${", "word:f", "punct:(", "template:b", "punct:${", "word:c", "punct:}", "template:", "punct:,"],
      ...["punct:{", "word:d", "punct::", "number:1", "punct:}", "punct:)", "punct:}", "template: } $5", "punct:+", "word:e"],
    ]);
  });

  it("counts lines inside templates", () => {
    expect(tokenize(`\`a\n\n\${b}\n\`; c`).map(({ text, line }) => [text, line])).toEqual([
      ["a\n\n", 1],
      ["${", 3],
      ["b", 3],
      ["}", 3],
      ["\n", 3],
      [";", 4],
      ["c", 4],
    ]);
  });

  it.each([
    ['x = /[/"{]\\//g.test(y)', ['/[/"{]\\//g']],
    ["return /{/", ["/{/"]],
    ["if (a) /`/.test(b)", ["/`/"]],
    ["for await (const a of b) /`/.test(a)", ["/`/"]],
    ["f(() => {}); { } /'/.test(b)", ["/'/"]],
    ["[/a/, !/b/]", ["/a/", "/b/"]],
    ["a / b / c", []],
    ["f(a) / b / c", []],
    ["a[0] / b / c", []],
    ["i++ / b / c", []],
    ["a! / b / c", []],
    ["a.return / b / c", []],
    ["x = { a: 1 } / b / c", []],
    ["<p>a</p> && <br />", []],
  ])("tells a regex from a division: %s", (source, expected) => {
    expect(regexes(source)).toEqual(expected);
  });

  it("goes on after a quote that is never closed", () => {
    expect(kinds("<p>don't</p>\nlast")).toContain("word:last");
  });
});

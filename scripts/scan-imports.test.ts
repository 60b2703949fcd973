import { describe, expect, it } from "vitest";
import { scanImports } from "./scan-imports.ts";

const values = (source: string): string[] =>
  scanImports(source).map(({ specifier, typeOnly }) => (typeOnly ? `type ${specifier}` : specifier));

describe("scanImports", () => {
  it.each([
    ['import x from "a"', ["a"]],
    ['import "a"', ["a"]],
    ["import * as x from 'a'", ["a"]],
    ['import x, { from, "y-z" as z } from "a"', ["a"]],
    ['import {\n  a, // "no"\n  type B,\n} from "a";', ["a"]],
    ['import type { A } from "a"', ["type a"]],
    ['import type A from "a"', ["type a"]],
    ['import type from from "a"', ["type a"]],
    ['import type from "a"', ["a"]],
    ['import type, { b } from "a"', ["a"]],
    ['import a from "a" with { type: "json" }', ["a"]],
    ['export * from "a"', ["a"]],
    ['export * as x from "a"', ["a"]],
    ['export { a,\n b as c } from "a"', ["a"]],
    ['export type { A } from "a"', ["type a"]],
    ['export type * from "a"', ["type a"]],
    ['const x = await import("a")', ["a"]],
    ["const x = await import(`a`)", ["a"]],
    ['type X = import("a").X', ["a"]],
    [`\`\${await import("a")}\``, ["a"]],
    ['export { a }\nimport { b } from "b"', ["b"]],
    ['import a from "a"\nimport b from "b"\nexport { a } from "c"', ["a", "b", "c"]],
  ])("finds %j", (source, expected) => {
    expect(values(source)).toEqual(expected);
  });

  it.each([
    '// import x from "a"',
    '/* import x from "a" */',
    '/** @example\n * import x from "a"\n */',
    "const x = 'import y from \"a\"'",
    'const x = `\nimport y from "a";\nexport * from "b";\n`',
    'const x = /import y from "a"/',
    'const x = { import: "a" }',
    'loader.import("a")',
    'loader?.import("a")',
    "import.meta.resolve",
    "await import(name)",
    `await import(\`a/\${name}\`)`,
    'export const from = "a"',
    'export { a };\nconst from = "a"',
    'export type A = { from: "a" }',
  ])("does not find %j", (source) => {
    expect(values(source)).toEqual([]);
  });
});

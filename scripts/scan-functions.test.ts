import { describe, expect, it } from "vitest";
import { scanFunctions } from "./scan-functions.ts";

/** `name@line+lines` of each function. */
const scan = (source: string): string[] => scanFunctions(source).map(({ name, line, lines }) => `${name}@${line}+${lines}`);

describe("scanFunctions finds", () => {
  it.each([
    ["function a() {\n}", ["a@1+2"]],
    ["export default async function* a<T extends { b: 1 }>(\n  x: T,\n) {\n}", ["a@1+4"]],
    ["const a = () => {\n};", ["a@1+2"]],
    ["const a = async <T,>(x: T) => {\n};", ["a@1+2"]],
    ["const a = x => {\n};", ["a@1+2"]],
    ["const a = async x => {\n};", ["a@1+2"]],
    ["const a: Map<string, () => void> = (x) => {\n};", ["a@1+2"]],
    ["const a: { b: C } | (() => D) = () => {\n};", ["a@1+2"]],
    ["x.a = () => {\n};", ["a@1+2"]],
    ["const a = b ? () => {} : () => {\n};", ["anonymous@1+1", "anonymous@1+2"]],
    ["const a = () => {\n  next: for (;;) {\n  }\n};", ["a@1+4"]],
    ["class A {\n  b() {\n  }\n  catch(x) {\n  }\n}", ["b@2+2", "catch@4+2"]],
    ["const a = function () {\n};", ["a@1+2"]],
    ["call(1, (x) => {\n});", ["anonymous@1+2"]],
    ["call(async function* () {\n});", ["anonymous@1+2"]],
    ["class A {\n  static async b() {\n  }\n}", ["b@2+2"]],
    ["class A {\n  get b(): number {\n  }\n  #c(x = { y: 1 }) {\n  }\n}", ["b@2+2", "#c@4+2"]],
    [
      "class A {\n  constructor(\n    x: number,\n  ) {\n  }\n  b: B = () => {\n  };\n  c = () => {\n  };\n}",
      ["constructor@2+4", "b@6+2", "c@8+2"],
    ],
    ['const o = {\n  a() {\n  },\n  b: () => {\n  },\n  "c-d"() {\n  },\n};', ["a@2+2", "b@4+2", "c-d@6+2"]],
    ["class A {\n  [Symbol.iterator]() {\n  }\n  return(x) {\n  }\n}", ["[Symbol.iterator]@2+2", "return@4+2"]],
  ])("%j", (source, expected) => {
    expect(scan(source)).toEqual(expected);
  });

  it.each([
    ["function a(): Promise<{ b: number }> {\n}", ["a@1+2"]],
    ["function a(): { b: number }[] {\n}", ["a@1+2"]],
    ["function a(): { b: number } | [c: string] {\n}", ["a@1+2"]],
    ["function a(x): asserts x is { b: number } {\n}", ["a@1+2"]],
    ["function a(): () => void {\n}", ["a@1+2"]],
    ["function a(): <T>(x: T) => T {\n}", ["a@1+2"]],
    ["function a(): (x: number) => { y: number } {\n}", ["a@1+2"]],
    ["function a(): typeof b.c | readonly string[] {\n}", ["a@1+2"]],
    [`function a(): \`x-\${string}\` {\n}`, ["a@1+2"]],
    ["const a = (x): Map<string, () => void> => {\n};", ["a@1+2"]],
    ["const a = (x): { y: number } => {\n};", ["a@1+2"]],
    ["const a = (\n  x,\n): (() => void) => {\n};", ["a@1+4"]],
    ["const a = (x): x is { y: 1 } => {\n};", ["a@1+2"]],
    ["function a(x: (y: { z: 1 }) => void = () => {\n}) {\n}", ["x@1+2", "a@1+3"]],
  ])("the body after a return type: %j", (source, expected) => {
    expect(scan(source)).toEqual(expected);
  });

  it("nested functions, each with its own length", () => {
    expect(scan("function outer() {\n  const inner = () => {\n    f(() => {\n    });\n  };\n}")).toEqual([
      "outer@1+6",
      "inner@2+4",
      "anonymous@3+2",
    ]);
  });
});

describe("scanFunctions is not misled by", () => {
  it.each([
    ["classes", "class A {\n}\nclass B extends A {\n}\nclass C extends mix.in(A) {\n}\nclass D extends (A) {\n}"],
    ["object literals", "const a = {\n  b: {\n  },\n};\nf({\n});"],
    [
      "types",
      "interface A {\n  b(): {\n    c: number;\n  };\n}\ntype B = () => {\n  readonly c?: number;\n};\ntype D = () => {\n  [key: string]: 1;\n};",
    ],
    ["overloads", "function a(x: string): { b: number };\ndeclare function c(): void;"],
    [
      "control flow",
      "if (a) {\n} else if (b) {\n}\nfor (const x of f(y)) {\n}\nwhile (g(z)) {\n}\nswitch (f(x)) {\n  case f(x): {\n  }\n}\ntry {\n} catch (e) {\n} finally {\n}",
    ],
    ["async loops", "for await (const x of y) {\n}"],
    ["ternaries", "const a = b ? (c) : {\n  d: 1,\n};"],
    ["arrows that return objects", "const a = () => ({\n});"],
  ])("%s", (_, source) => {
    expect(scan(source)).toEqual([]);
  });

  it.each([
    ["braces in strings", "const s = \"}{\"; const t = '}';"],
    ["braces in templates", `const s = \`}{ \${\`}\${{ a: 1 }.a}\`} }\`;`],
    ["braces in comments", "// }\n/* { */"],
    ["braces in regexes", "const r = /[}/]{2}\\}/; if (r) /}/.test(x);"],
    ["divisions", 'const q = a / b; const s = "}"; const u = c / d;'],
  ])("%s", (_, text) => {
    const extra = text.split("\n").length - 1;
    expect(scan(`function a() {\n  ${text}\n}\nfunction b() {\n}`)).toEqual([`a@1+${3 + extra}`, `b@${4 + extra}+2`]);
  });

  it("functions inside a template substitution", () => {
    expect(scan(`const s = \`\${f(() => {\n})}\`;\nfunction b() {\n}`)).toEqual(["anonymous@1+2", "b@3+2"]);
  });
});

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkInference, countInstantiations, parseInstantiations } from "./check-inference.ts";
import { runScript, writeTree } from "./write-tree.ts";

const FILES = {
  "package.json": JSON.stringify({ type: "module" }),
  "shape.ts": "export type Deep<T, N extends 1[] = []> = N['length'] extends 50 ? T : Deep<[T], [...N, 1]>;\n",
  "baseline.ts": 'import type { Deep } from "./shape.ts";\nexport type Same = typeof import("./shape.ts");\nexport type { Deep };\n',
  "program.ts": 'import type { Deep } from "./shape.ts";\nexport const deep: Deep<string> | undefined = undefined;\n',
  "broken.ts": 'export const n: number = "text";\n',
};

const write = (): { program: string; baseline: string; broken: string } => {
  const root = writeTree(FILES);
  return { program: join(root, "program.ts"), baseline: join(root, "baseline.ts"), broken: join(root, "broken.ts") };
};

describe("check-inference", () => {
  it("reads the compiler's count, with or without separators", () => {
    expect(parseInstantiations("Types:  5\nInstantiations:     24\nMemory used: 1K\n")).toBe(24);
    expect(parseInstantiations("Instantiations:  1,234,567\n")).toBe(1_234_567);
    expect(parseInstantiations("Types:  5\n")).toBeUndefined();
  });

  it("counts more for more inference, and the same each time", () => {
    const { program, baseline } = write();
    const count = countInstantiations(program);
    expect(count).toBeGreaterThan(countInstantiations(baseline) + 50);
    expect(countInstantiations(program)).toBe(count);
  });

  it("counts a type once, however many files use it", () => {
    const names = Array.from({ length: 16 }, (_, index) => `part-${index}.ts`);
    const parts = Object.fromEntries(names.map((name) => [name, FILES["program.ts"]]));
    const all = names.map((name) => `import "./${name}";\n`).join("");
    const root = writeTree({ ...FILES, ...parts, "all.ts": all });
    expect(countInstantiations(join(root, "all.ts"))).toBeLessThan(countInstantiations(join(root, "program.ts")) + 16);
  });

  it("compares the total, not the difference, with the budget", () => {
    const { program, baseline } = write();
    const total = countInstantiations(program);
    const ours = total - countInstantiations(baseline);
    const line = (budget: number): string => `type instantiations: total ${total}, of which ours ${ours} (budget ${budget})`;
    expect(checkInference(program, baseline, total)).toEqual({ line: line(total), isOk: true });
    expect(checkInference(program, program, total - 1).isOk).toBe(false);
    expect(runScript("check-inference.ts", program, baseline, `${total}`)).toEqual({ status: 0, output: `${line(total)}\n` });
    expect(runScript("check-inference.ts", program, baseline, `${total - 1}`)).toEqual({ status: 1, output: `${line(total - 1)}\n` });
  });

  it("fails when a program does not compile or is not there", () => {
    const { program, broken } = write();
    expect(() => countInstantiations(broken)).toThrow(/does not compile:.*TS2322/s);
    const output = "no such file: /nowhere/baseline.ts\n";
    expect(runScript("check-inference.ts", program, "/nowhere/baseline.ts", "1000000")).toEqual({ status: 1, output });
  });
});

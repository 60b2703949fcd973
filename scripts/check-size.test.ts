import { describe, expect, it } from "vitest";
import { checkSize, percentile } from "./check-size.ts";
import { runScript, writeTree } from "./write-tree.ts";

const lines = (count: number): string => "x;\n".repeat(count);
/** A function with exactly this many lines. */
const fn = (name: string, count: number): string => `function ${name}() {\n${lines(count - 2)}}\n`;

describe("check-size", () => {
  it("passes what is at its limit and prints median and 90th percentile of sources", () => {
    const root = writeTree({
      "packages/a/src/index.ts": lines(500),
      "packages/a/src/fn.ts": fn("exact", 60),
      "packages/a/src/index.test.ts": lines(800),
      "packages/a/src/types.test-d.ts": lines(800),
      "packages/a/fixtures/outside-of-src.ts": lines(900),
      "packages/a/src/node_modules/b/index.ts": lines(900),
      "packages/a/src/notes.md": lines(900),
      "scripts/x.ts": lines(10),
    });
    const output = "size: 3 source files, median 60 lines, 90th percentile 500, ok\n";
    expect(runScript("check-size.ts", root)).toEqual({ status: 0, output });
  });

  it("prints what is over and exits with 1", () => {
    const root = writeTree({
      "packages/a/src/long.ts": lines(501),
      "packages/a/src/long.test.ts": lines(801),
      "scripts/x.ts": `\n${fn("tooLong", 61)}`,
    });
    const { status, output } = runScript("check-size.ts", root);
    expect(output.trimEnd().split("\n")).toEqual([
      "packages/a/src/long.test.ts: 801 lines (limit 800)",
      "packages/a/src/long.ts: 501 lines (limit 500)",
      "scripts/x.ts:2: function tooLong has 61 lines (limit 60)",
      "size: 2 source files, median 62 lines, 90th percentile 501, 3 over budget",
    ]);
    expect(status).toBe(1);
  });

  it.each(["packages/a/src", "scripts", "bench", "examples/story", "apps/console/src"])("looks into %s", (folder) => {
    const root = writeTree({ [`${folder}/deep/x.tsx`]: lines(501) });
    expect(checkSize(root).findings).toEqual([{ file: `${folder}/deep/x.tsx`, message: "501 lines (limit 500)" }]);
  });

  it("does not measure functions of tests", () => {
    const root = writeTree({ "scripts/x.test.ts": fn("tooLong", 61), "scripts/y.test-d.ts": fn("tooLong", 61) });
    expect(checkSize(root).findings).toEqual([]);
  });

  it("counts a last line without line end", () => {
    expect(checkSize(writeTree({ "scripts/x.ts": "a\nb" })).lengths).toEqual([2]);
  });

  it("fails when there is nothing to measure", () => {
    expect(runScript("check-size.ts", writeTree({})).status).toBe(1);
  });

  it("takes percentiles by nearest rank", () => {
    expect([0.5, 0.9, 1].map((share) => percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], share))).toEqual([5, 9, 10]);
    expect(percentile([], 0.5)).toBe(0);
  });
});

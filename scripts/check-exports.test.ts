import { describe, expect, it } from "vitest";
import { checkExports } from "./check-exports.ts";
import { runScript, writeTree } from "./write-tree.ts";

const manifest = (name: string, ...subpaths: readonly string[]): string =>
  JSON.stringify({
    name,
    exports: Object.fromEntries(
      subpaths.map((path) => [path, { "awaken-source": `./src/${path === "." ? "" : `${path.slice(2)}/`}index.ts` }]),
    ),
  });

/** A package with one entry, and one that may use it. */
const tree = (index: string, user: string, others: Readonly<Record<string, string>> = {}): string =>
  writeTree({
    "packages/a/package.json": manifest("@awaken/a", "."),
    "packages/a/src/index.ts": index,
    "packages/b/package.json": manifest("@awaken/b"),
    "packages/b/src/user.ts": user,
    ...others,
  });

const unused = (root: string): readonly string[] => checkExports(root).findings.map(({ message }) => message.split(" ")[0] ?? "");

describe("check-exports", () => {
  it.each([
    ["an import", 'import { x } from "@awaken/a";'],
    ["a type import", 'import type { x } from "@awaken/a";'],
    ["one of several names, over lines", 'import {\n  type y,\n  x as z,\n} from "@awaken/a";'],
    ["a re-export", 'export { x } from "@awaken/a";'],
    ["a member of the whole entry", 'import * as a from "@awaken/a";\nconst y = a.x;'],
    ["a type of the whole entry", 'import type * as a from "@awaken/a";\ntype Y = a.x;'],
    ["a late import", 'const { x } = await import("@awaken/a");'],
  ])("%s in another package is a use", (_, user) => {
    expect(unused(tree('export { x } from "./x.ts";', user))).toEqual([]);
  });

  it("examples, benches and scripts are users too", () => {
    for (const folder of ["examples/story", "bench", "scripts"])
      expect(unused(tree('export { x } from "./x.ts";', "", { [`${folder}/use.ts`]: 'import { x } from "@awaken/a";' }))).toEqual([]);
  });

  it.each(["packages/b/src/x.test.ts", "packages/b/src/x.test-support.ts", "e2e/story/x.ts"])("what %s imports is not used", (file) => {
    expect(unused(tree('export { x } from "./x.ts";', "", { [file]: 'import { x } from "@awaken/a";' }))).toEqual(["x"]);
  });

  it("entries for tests are used by tests", () => {
    const entries = {
      "packages/a/package.json": manifest("@awaken/a", "./testing"),
      "packages/a/src/testing/index.ts": 'export { x, y } from "../x.ts";',
      "e2e/story.ts": 'import { x } from "@awaken/a/testing";',
    };
    expect(unused(tree("", "", entries))).toEqual(["y"]);
  });

  it("sees what an entry declares itself", () => {
    const index =
      "export const a = 1;\nexport function b() {}\nexport async function c() {}\nexport class D {}\nexport interface E {}\nexport type F = 1;\n";
    expect(unused(tree(index, 'import { c } from "@awaken/a";'))).toEqual(["a", "b", "D", "E", "F"]);
    expect(unused(tree("// Public: for stores of others.\nexport const a = 1;\n", ""))).toEqual([]);
  });

  it.each([
    ["nobody", ""],
    ["another name", 'import { y } from "@awaken/a";'],
    ["another package's name", 'import { x } from "@awaken/c";'],
    ["another entry", 'import { x } from "@awaken/a/store";'],
    ["a word in a text", 'const text = "import x";'],
    ["the whole entry for another member", 'import * as a from "@awaken/a";\nconst y = [a.y, b.a.x];'],
  ])("is not used by %s", (_, user) => {
    expect(unused(tree('export { x } from "./x.ts";', user))).toEqual(["x"]);
  });

  it("a package does not use its own names", () => {
    expect(unused(tree('export { x } from "./x.ts";', "", { "packages/a/src/x.test.ts": 'import { x } from "@awaken/a";' }))).toEqual([
      "x",
    ]);
  });

  it("a mark in a statement excuses the name below it, and no other", () => {
    const index = 'export {\n  a,\n  // Public: whoever shows runs has a word for each.\n  type B as C,\n  d,\n} from "./x.ts";\n';
    expect(unused(tree(index, 'import { a } from "@awaken/a";'))).toEqual(["d"]);
    expect(unused(tree(index, 'import { d } from "@awaken/a";'))).toEqual(["a"]);
  });

  it("a mark on what others use says nothing, and goes", () => {
    const index = '// Public: stores of others spell it.\nexport type { X, Y } from "./x.ts";\n';
    expect(checkExports(tree(index, 'import type { Y } from "@awaken/a";')).findings).toEqual([
      { file: "packages/a/src/index.ts", message: "Y has users outside @awaken/a: it needs no mark that it is public" },
    ]);
  });

  it("a mark with a reason excuses the statement below it, and no other", () => {
    const index = '// Public: stores of others spell it.\nexport type { X } from "./x.ts";\nexport { y } from "./y.ts";\n';
    expect(unused(tree(index, ""))).toEqual(["y"]);
    expect(unused(tree('// Public:\nexport { y } from "./y.ts";\n', ""))).toEqual(["y"]);
  });

  it("looks at each entry by its own name, and at what it is called outside", () => {
    const entries = {
      "packages/a/package.json": manifest("@awaken/a", ".", "./store"),
      "packages/a/src/store/index.ts": 'export { inner as outer } from "../x.ts";',
    };
    expect(unused(tree('export { x } from "./x.ts";', 'import { outer } from "@awaken/a/store";', entries))).toEqual(["x"]);
  });

  it("the facade is public, and a list of names is needed", () => {
    const facade = {
      "packages/awaken/package.json": manifest("awaken", "."),
      "packages/awaken/src/index.ts": 'export { q } from "./q.ts";',
    };
    expect(unused(tree('export { x } from "./x.ts";', 'import { x } from "@awaken/a";', facade))).toEqual([]);
    expect(checkExports(tree('export * from "./x.ts";', "")).findings).toEqual([
      { file: "packages/a/src/index.ts", message: "`export *`: list the names" },
    ]);
  });

  it("prints the count of each package and exits with 1", () => {
    const { status, output } = runScript("check-exports.ts", tree('export { x, y } from "./x.ts";', 'import { x } from "@awaken/a";'));
    expect(output).toBe(
      "packages/a/src/index.ts: y has no user outside @awaken/a, and no mark that it is public\nexports: @awaken/a 2, 1 to look at\n",
    );
    expect(status).toBe(1);
  });
});

import { describe, expect, it } from "vitest";
import { checkLayers } from "./check-layers.ts";
import { runScript, writeTree } from "./write-tree.ts";

type Files = Readonly<Record<string, string>>;

const manifest = (name: string, fields: object = {}): string => JSON.stringify({ name, exports: { ".": "./src/index.ts" }, ...fields });
const on = (...names: string[]): Record<string, string> => Object.fromEntries(names.map((name) => [name, "0.1.0"]));

const HOUSE: Files = {
  "packages/contract/package.json": manifest("@awaken/contract"),
  "packages/contract/src/index.ts": 'export type { A } from "./a.ts";',
  "packages/contract/src/a.ts": 'import { z } from "zod"; export type A = z.infer<never>;',
  "packages/runtime/package.json": manifest("@awaken/runtime", {
    exports: { ".": "./src/index.ts", "./testing": "./src/testing.ts", "./parts/*.ts": "./src/parts/*.ts" },
    dependencies: on("@awaken/contract"),
    devDependencies: on("@awaken/stores"),
  }),
  "packages/runtime/src/index.ts": 'export { run } from "./create-runtime.ts";',
  "packages/runtime/src/create-runtime.ts": 'import { loop } from "./loop/loop.ts"; export const run = loop;',
  "packages/runtime/src/testing.ts": 'export { fake } from "./testing/fake.ts";',
  "packages/runtime/src/testing/fake.ts": 'import { loop } from "../loop/loop.ts"; export const fake = loop;',
  "packages/runtime/src/loop/loop.ts": 'import type { A } from "@awaken/contract"; import { s } from "../state/s.ts"; import "./step.ts";',
  "packages/runtime/src/loop/step.ts": "export const step = 1;",
  "packages/runtime/src/state/s.ts": "export const s = 1;",
  "packages/runtime/src/state/s.test.ts":
    'import "../index.ts"; import "../testing/fake.ts"; import "@awaken/stores"; import "@awaken/runtime/testing";',
  "packages/runtime/src/types.test-d.ts": 'import type {} from "./testing/fake.ts";',
  "packages/stores/package.json": manifest("@awaken/stores", { dependencies: on("@awaken/contract") }),
  "packages/stores/src/index.ts": 'export * from "./memory/open.ts"; export * from "./sqlite/open.ts";',
  "packages/stores/src/memory/open.ts": 'import type { A } from "@awaken/contract"; import "../sql/text.ts";',
  "packages/stores/src/sqlite/open.ts": 'import "../sql/text.ts";',
  "packages/stores/src/sql/text.ts": "",
  "packages/server/package.json": manifest("@awaken/server", { dependencies: on("@awaken/contract", "@awaken/runtime") }),
  "packages/server/src/app.ts": 'import "./protocols/ag-ui/routes.ts"; import "./routes/admin.ts"; import "@awaken/runtime";',
  "packages/server/src/protocols/ag-ui/routes.ts": 'import "./decode.ts"; import "../../config/c.ts";',
  "packages/server/src/protocols/ag-ui/decode.ts": "",
  "packages/server/src/protocols/a2a/decode.ts": "",
  "packages/server/src/routes/admin.ts": 'import "../http/sse.ts";',
  "packages/server/src/config/c.ts": 'import "../http/sse.ts";',
  "packages/server/src/http/sse.ts": "",
  "packages/awaken/package.json": manifest("awaken", { dependencies: on("@awaken/runtime", "@awaken/stores") }),
  "packages/awaken/src/index.ts": 'export * from "@awaken/runtime"; export * from "@awaken/stores";',
  "apps/console/package.json": manifest("awaken-console", { dependencies: on("@awaken/contract", "@awaken/runtime") }),
  "apps/console/src/main.tsx": 'import type { A } from "@awaken/contract"; export const Main = () => <p>don\'t</p>;',
  "examples/story/main.ts": 'import { run } from "awaken"; import "./part.ts";',
  "examples/story/part.ts": "",
};

/** Findings after some files of the good house are replaced or added. */
const findingsWith = (files: Files): string[] =>
  checkLayers(writeTree({ ...HOUSE, ...files })).map(({ file, message }) => `${file}: ${message}`);

const expectFinding = (file: string, source: string, message: string): void => {
  expect(findingsWith({ [file]: source })).toEqual([`${file}: ${message}`]);
};

describe("a good house", () => {
  it("has no findings", () => {
    expect(findingsWith({})).toEqual([]);
  });

  it("is reported with its size, exit code 0", () => {
    const count = Object.keys(HOUSE).filter((file) => !file.endsWith(".json")).length;
    expect(runScript("check-layers.ts", writeTree(HOUSE))).toEqual({ status: 0, output: `layers: ${count} files, ok\n` });
  });

  it("is not an empty one", () => {
    expect(runScript("check-layers.ts", writeTree({})).status).toBe(1);
  });
});

describe("between packages", () => {
  it("prints findings and exits with 1", () => {
    const root = writeTree({ ...HOUSE, "packages/stores/src/sql/text.ts": 'import "../memory/../../../contract/src/a.ts";' });
    const output = "packages/stores/src/sql/text.ts: relative import leaves the package: ../memory/../../../contract/src/a.ts\n";
    expect(runScript("check-layers.ts", root)).toEqual({ status: 1, output });
  });

  it("contract imports no package of ours", () => {
    expect(findingsWith({ "packages/contract/src/a.ts": 'export type { B } from "@awaken/runtime";' })).toEqual([
      "packages/contract/src/a.ts: @awaken/contract must not import @awaken/runtime",
      "packages/contract/src/a.ts: @awaken/runtime is not declared in packages/contract/package.json",
    ]);
  });

  it("server imports no store, even a declared one, even lazily", () => {
    const findings = findingsWith({
      "packages/server/package.json": manifest("@awaken/server", { dependencies: on("@awaken/runtime", "@awaken/stores") }),
      "packages/server/src/http/sse.ts": 'const open = () =>\n  import(\n    "@awaken/stores"\n  );',
    });
    expect(findings).toEqual(["packages/server/src/http/sse.ts: @awaken/server must not import @awaken/stores"]);
  });

  it("an import must be declared; devDependencies are for tests", () => {
    const message = "is not declared in packages/awaken/package.json";
    expectFinding("packages/awaken/src/cli.ts", 'import "@awaken/contract";', `@awaken/contract ${message}`);
    expectFinding("packages/awaken/src/cli.test.ts", 'import "@awaken/contract";', `@awaken/contract ${message}`);
    const findings = findingsWith({ "packages/runtime/src/loop/step.ts": 'import "@awaken/stores";' });
    expect(findings).toContain("packages/runtime/src/loop/step.ts: @awaken/stores is not declared in packages/runtime/package.json");
  });

  it("only declared subpaths exist", () => {
    expect(
      findingsWith({ "packages/server/src/app.ts": 'import "@awaken/runtime/testing"; import "@awaken/runtime/parts/x.ts";' }),
    ).toEqual([]);
    expectFinding("packages/server/src/app.ts", 'import "@awaken/runtime/loop";', '@awaken/runtime does not export "./loop"');
    expectFinding("examples/story/part.ts", 'import "awaken/inner";', 'awaken does not export "./inner"');
  });

  it("the entry with which the writer of runs vouches for a commit is nobody else's", () => {
    const files = { "packages/contract/package.json": manifest("@awaken/contract", { exports: { ".": "./a.ts", "./writer": "./w.ts" } }) };
    const source = 'import { composedCommit } from "@awaken/contract/writer";';
    expect(findingsWith({ ...files, "packages/runtime/src/commit/land.ts": source })).toEqual([]);
    for (const file of ["packages/runtime/src/loop/step.ts", "packages/stores/src/memory/open.ts", "packages/runtime/src/loop/x.test.ts"]) {
      expect(findingsWith({ ...files, [file]: source })).toEqual([`${file}: @awaken/contract/writer is not for this file`]);
    }
  });

  it("src of another package is closed, by name and by path", () => {
    const deep = "@awaken/runtime/src/loop/loop.ts";
    expectFinding("packages/server/src/app.ts", `import "${deep}";`, `deep import of another package's src: ${deep}`);
    const path = "../../packages/runtime/src/index.ts";
    expectFinding("examples/story/part.ts", `import "${path}";`, `import @awaken/runtime by its name, not ${path}`);
    const sibling = "../../../contract/src/a.ts";
    expectFinding("packages/runtime/src/loop/x.test.ts", `import "${sibling}";`, `relative import leaves the package: ${sibling}`);
  });

  it("a package does not import itself by name, nor one that is not there", () => {
    expectFinding("packages/runtime/src/loop/step.ts", 'import "@awaken/runtime";', "imports its own package by name: @awaken/runtime");
    expectFinding("examples/story/part.ts", 'import "@awaken/nothing";', "unknown package @awaken/nothing");
    expect(findingsWith({ "packages/shell/package.json": manifest("@awaken/shell") })).toEqual([
      "packages/shell: unknown package @awaken/shell",
    ]);
  });

  it("the console imports contract, as types", () => {
    const file = "apps/console/src/api.ts";
    expectFinding(
      file,
      'import { type A } from "@awaken/contract";',
      'console imports types only: write "import type" for @awaken/contract',
    );
    expectFinding(file, 'import type { R } from "@awaken/runtime";', "console must not import @awaken/runtime");
  });
});

describe("between rooms", () => {
  it.each([
    ["state/s.ts", "../loop/step.ts", 'room "state" must not import room "loop" above it (loop/step.ts)'],
    ["stream/q.ts", "../state/s.ts", 'room "stream" must not import room "state" above it (state/s.ts)'],
    ["testing/fake.ts", "../run/r.ts", 'room "testing" must not import room "run" above it (run/r.ts)'],
    ["builtin/b.ts", "../testing/fake.ts", 'only tests import room "testing" (testing/fake.ts)'],
    ["create-runtime.ts", "./testing/fake.ts", 'only tests import room "testing" (testing/fake.ts)'],
    ["index.ts", "./testing.ts", 'only tests import room "testing" (testing.ts)'],
    ["run/r.ts", "../loop/resume/load.ts", '"loop/resume" is imported by its entry, resume.ts (loop/resume/load.ts)'],
    ["loop/step.ts", "./resume/load.ts", '"loop/resume" is imported by its entry, resume.ts (loop/resume/load.ts)'],
    ["loop/step.ts", "../create-runtime.ts", 'room "loop" must not import room "composition" above it (create-runtime.ts)'],
  ])("runtime: %s may not import %s", (file, specifier, message) => {
    // Type-only and without target, so that no cycle is found as well.
    const findings = findingsWith({
      "packages/runtime/src/loop/loop.ts": "",
      [`packages/runtime/src/${file}`]: `import type {} from "${specifier}";`,
    });
    expect(findings).toEqual([`packages/runtime/src/${file}: ${message}`]);
  });

  it("runtime: the whole order", () => {
    const order = [
      ...["mailbox", "relay", "run", "builtin", "resolve", "registry", "backend", "loop"],
      ...["prompt", "inference", "plugin", "tool", "phase", "state", "stream"],
    ];
    const findings = order.slice(1).flatMap((room, at) => {
      const down = { [`packages/runtime/src/${order[at]}/down.ts`]: `import "../${room}/x.ts";` };
      const up = { [`packages/runtime/src/${room}/up.ts`]: `import "../${order[at]}/x.ts";` };
      return findingsWith({ ...down, ...up });
    });
    const expected = order.slice(1).map((room, at) => {
      const message = `room "${room}" must not import room "${order[at]}" above it (${order[at]}/x.ts)`;
      return `packages/runtime/src/${room}/up.ts: ${message}`;
    });
    expect(findings).toEqual(expected);
  });

  it("a room that nobody planned is a finding", () => {
    expectFinding("packages/runtime/src/utils/pad.ts", "", 'unknown room "utils"');
    expectFinding("packages/runtime/src/pad.ts", "", 'unknown room "pad.ts"');
    expectFinding("packages/server/src/misc/pad.ts", "", 'unknown room "misc"');
  });

  it("server: app, then protocols, which do not know each other, then routes, config and http", () => {
    const room = (name: string): string => `packages/server/src/${name}`;
    const beside = 'room "protocols/a2a" must not import room "protocols/ag-ui" beside it (protocols/ag-ui/decode.ts)';
    expectFinding(room("protocols/a2a/decode.ts"), 'import "../ag-ui/decode.ts";', beside);
    const routes = 'room "routes" must not import room "protocols/a2a" above it (protocols/a2a/decode.ts)';
    expectFinding(room("routes/admin.ts"), 'import "../protocols/a2a/decode.ts";', routes);
    expectFinding(room("http/x.ts"), 'import "../config/c.ts";', 'room "http" must not import room "config" above it (config/c.ts)');
    expectFinding(room("config/d.ts"), 'import "../app.ts";', 'room "config" must not import room "app" above it (app.ts)');
  });

  it("stores do not know each other", () => {
    const message = 'room "sqlite" must not import room "memory" beside it (memory/open.ts)';
    expectFinding("packages/stores/src/sqlite/open.ts", 'import "../memory/open.ts";', message);
  });

  it.each([
    ["stores", "sql/x.ts", "../sqlite/o.ts", 'room "sql" must not import room "sqlite" above it (sqlite/o.ts)'],
    ["stores", "plan/p.ts", "../sql/text.ts", 'room "plan" must not import room "sql" above it (sql/text.ts)'],
    ["stores", "worker-moves.ts", "./plan/p.ts", 'room "claims" must not import room "plan" above it (plan/p.ts)'],
    ["stores", "memory/m.ts", "../conformance/c.ts", 'room "memory" must not import room "conformance" above it (conformance/c.ts)'],
    ["contract", "store/s.ts", "../http/h.ts", 'room "store" must not import room "http" above it (http/h.ts)'],
    ["contract", "spec/s.ts", "../store/s.ts", 'room "spec" must not import room "store" above it (store/s.ts)'],
    ["contract", "run.ts", "./store/s.ts", 'room "records" must not import room "store" above it (store/s.ts)'],
    ["contract", "schema/s.ts", "../run.ts", 'room "schema" must not import room "records" above it (run.ts)'],
    ["contract", "json.ts", "./schema/s.ts", 'room "base" must not import room "schema" above it (schema/s.ts)'],
  ])("%s: %s may not import %s", (name, file, specifier, message) => {
    expectFinding(`packages/${name}/src/${file}`, `import type {} from "${specifier}";`, message);
  });

  it("what tests share is a test", () => {
    const file = "packages/stores/src/sqlite/test-store.ts";
    expect(findingsWith({ [file]: 'import "../conformance/c.ts";' })).toEqual([]);
  });
});

describe("cycles", () => {
  it("prints the path, types included", () => {
    const findings = findingsWith({
      "packages/contract/src/c.ts": 'import type { A } from "./a.ts";',
      "packages/contract/src/a.ts": 'export {\n  b,\n} from "./b.ts";',
      "packages/contract/src/b.ts": 'export const b = () => import("./c.ts");',
    });
    const [a, b, c] = ["a", "b", "c"].map((name) => `packages/contract/src/${name}.ts`);
    expect(findings).toEqual([`${a}: import cycle: ${a} → ${b} → ${c} → ${a}`]);
  });

  it("two ways to one file are no cycle; a file that imports itself is one", () => {
    const self = "packages/stores/src/sql/text.ts";
    expectFinding(self, 'import "./text.ts";', `import cycle: ${self} → ${self}`);
  });

  it("text is not an import", () => {
    const template = 'const t = `import "../sqlite/open.ts"`; const u = \'import "../sqlite/open.ts"\';';
    const text = `// import "./open.ts"\n${template}`;
    expect(findingsWith({ "packages/stores/src/memory/open.ts": text })).toEqual([]);
  });
});

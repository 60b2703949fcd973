import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeTree } from "./write-tree.ts";

const RUN = join(import.meta.dirname, "../.ci/run");

interface Step {
  readonly prints?: string;
  readonly exits?: number;
}

/** Runs the real script with an npm that prints and exits as told, one step for each command. */
function ci(
  steps: { ci?: Step; test?: Step; check?: Step },
  files: readonly string[] = [],
): { status: number | null; lines: string[]; errors: string; commands: string[] } {
  const root = writeTree({
    ".ci/run": readFileSync(RUN, "utf8"),
    ...Object.fromEntries(files.map((file) => [file, ""])),
    "bin/npm":
      '#!/bin/sh\necho "npm $*" >>commands\nif [ "$CI" != true ]; then exit 9; fi\nfor name; do :; done\ncat "out/$name"\nexit "$(cat "exit/$name")"\n',
    ...Object.fromEntries(["ci", "test", "check"].map((name) => [`out/${name}`, ""])),
    ...Object.fromEntries(["ci", "test", "check"].map((name) => [`exit/${name}`, "0"])),
    ...Object.fromEntries(Object.entries(steps).map(([name, { prints = "" }]) => [`out/${name}`, prints])),
    ...Object.fromEntries(Object.entries(steps).map(([name, { exits = 0 }]) => [`exit/${name}`, `${exits}`])),
  });
  chmodSync(join(root, "bin/npm"), 0o755);
  const { PATH = "", ...rest } = process.env;
  const env = { ...rest, PATH: `${join(root, "bin")}${delimiter}${PATH}` };
  const { status, stdout, stderr } = spawnSync("bash", [join(root, ".ci/run")], { encoding: "utf8", env, cwd: "/" });
  const commands = existsSync(join(root, "commands")) ? readFileSync(join(root, "commands"), "utf8").trimEnd().split("\n") : [];
  return { status, commands, errors: stderr, lines: stdout.trimEnd().split("\n") };
}

const GREEN = " Test Files  5 passed (5)\n      Tests  131 passed (131)\n   Start at  06:06:07\n";

describe(".ci/run", () => {
  it("installs, tests, counts and checks, in this order", () => {
    const { status, lines, commands } = ci({ test: { prints: GREEN }, check: { prints: "checked\n" } });
    expect(commands).toEqual(["npm ci", "npm test", "npm run check"]);
    expect(lines.slice(-2)).toEqual(["131 passed, 0 failed", "checked"]);
    expect(status).toBe(0);
  });

  it("is executable", () => {
    expect(spawnSync("test", ["-x", RUN]).status).toBe(0);
  });

  it("counts failures in colour and stops", () => {
    const prints =
      "\u001b[2m Test Files \u001b[22m \u001b[1m\u001b[31m1 failed\u001b[39m\u001b[22m (2)\n" +
      "\u001b[2m      Tests \u001b[22m \u001b[1m\u001b[31m2 failed\u001b[39m\u001b[22m\u001b[2m | \u001b[22m\u001b[32m12 passed\u001b[39m\u001b[90m (14)\u001b[39m\n";
    const { status, lines, commands } = ci({ test: { prints, exits: 1 } });
    expect([lines.at(-1), status, commands.at(-1)]).toEqual(["12 passed, 2 failed", 1, "npm test"]);
  });

  it("counts files that do not load and unhandled errors as failures", () => {
    const banner = "⎯⎯⎯⎯⎯⎯⎯ Failed Suites 2 ⎯⎯⎯⎯⎯⎯⎯\n";
    const { lines } = ci({
      test: { prints: `${banner} Test Files  3 failed (3)\n      Tests  1 failed | 4 passed (5)\n     Errors  3 errors\n`, exits: 1 },
    });
    expect(lines.at(-1)).toBe("4 passed, 6 failed");
    expect(ci({ test: { prints: `${banner} Test Files  2 failed (2)\n      Tests  no tests\n`, exits: 1 } }).lines.at(-1)).toBe(
      "0 passed, 2 failed",
    );
  });

  it("is not misled by what tests print", () => {
    const { lines } = ci({
      test: { prints: `Tests  7 failed\nstdout: Tests  9 passed (9)\nTests  1 failed (1)\nErrors  1 error\n${GREEN}` },
    });
    expect(lines).toContain("131 passed, 0 failed");
  });

  it("fails when npm test fails or ends without a summary", () => {
    expect(ci({ test: { prints: GREEN, exits: 7 } })).toMatchObject({ status: 7, commands: ["npm ci", "npm test"] });
    expect(ci({ test: { prints: "Killed\n", exits: 137 } }).lines.at(-1)).toBe("0 passed, 1 failed");
    expect(ci({ test: { prints: GREEN.replace("131 passed (131)", "2 failed | 131 passed (133)") } })).toMatchObject({
      status: 1,
      commands: ["npm ci", "npm test"],
    });
    expect(ci({ test: { prints: "nothing ran\n" } })).toMatchObject({ status: 1, commands: ["npm ci", "npm test"] });
  });

  it("fails when a test was skipped, alone or with its file, and when none ran", () => {
    const skipped = (from: string, to: string) => {
      const { status, errors, commands } = ci({ test: { prints: GREEN.replace(from, to) } });
      expect({ status, last: commands.at(-1) }).toEqual({ status: 1, last: "npm test" });
      return errors;
    };
    expect(skipped("131 passed (131)", "131 passed | 2 skipped (133)")).toBe("2 tests were skipped\n");
    expect(skipped("131 passed (131)", "131 passed | 1 todo (132)")).toBe("1 tests were skipped\n");
    expect(skipped("5 passed (5)", "5 passed | 1 skipped (6)")).toBe("1 tests were skipped\n");
    expect(skipped("131 passed (131)", "no tests")).toBe("no test ran\n");
  });

  it("fails when fewer test files ran than the repository has, those of packages that are installed aside", () => {
    const own = ["packages/a/src/a.test.ts", "packages/b/src/deep/b.test.ts", "scripts/c.test.ts", "e2e/d.test.ts", "examples/x/e.test.ts"];
    const others = ["node_modules/x/x.test.ts", "packages/a/node_modules/y/y.test.ts", "bench/.peers/z.test.ts", "packages/a/src/a.ts"];
    expect(ci({ test: { prints: GREEN } }, [...own, ...others])).toMatchObject({ status: 0 });
    const { status, errors, lines } = ci({ test: { prints: GREEN } }, [...own, "packages/lost/test/f.test.ts"]);
    expect({ status, errors }).toEqual({ status: 1, errors: "5 test files ran, and the repository has 6\n" });
    expect(lines.at(-1)).toBe("131 passed, 1 failed");
  });

  it("fails when the installation or the check fails", () => {
    expect(ci({ ci: { exits: 3 } })).toMatchObject({ status: 3, commands: ["npm ci"] });
    expect(ci({ test: { prints: GREEN }, check: { exits: 4 } })).toMatchObject({
      status: 4,
      commands: ["npm ci", "npm test", "npm run check"],
    });
  });
});

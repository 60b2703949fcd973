import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeTree } from "./write-tree.ts";

const ROOT = join(import.meta.dirname, "..");
const PACKAGES = ["contract", "runtime", "providers", "stores", "awaken"];

/** What a user writes, with every entry of the package. */
const PROGRAM = `
import { createRuntime, defineTool } from "awaken";
import { defineConfig } from "awaken/config";
import { postgresStore } from "awaken/postgres";
import { sqliteStore } from "awaken/sqlite";
import { scripted, text } from "awaken/testing";
import * as z from "zod";

const weather = defineTool({ id: "weather", description: "", input: z.object({ city: z.string() }), execute: async ({ city }) => ({ city }) });
const options = { providers: { s: scripted([text("hi")]) }, models: { m: { provider: "s", model: "x" } }, agents: { a: { model: "m" } }, tools: [weather] };
export const runtime = createRuntime({ ...options, store: sqliteStore("a.db") });
export default defineConfig(options);
export const result = await runtime.run({ agent: "a", input: "hi", output: z.object({ a: z.string() }) });
export const make = () => postgresStore("postgres://localhost/a");
`;

function typeErrors(): string {
  const root = writeTree({ "main.ts": PROGRAM, "package.json": '{ "type": "module" }' });
  mkdirSync(join(root, "node_modules"));
  symlinkSync(join(ROOT, "packages/awaken"), join(root, "node_modules/awaken"));
  symlinkSync(join(ROOT, "node_modules/zod"), join(root, "node_modules/zod"));
  const language = ["--target", "es2024", "--lib", "esnext,dom", "--module", "nodenext", "--moduleResolution", "nodenext"];
  const args = ["--strict", "--noEmit", ...language, "--types", "node", "--typeRoots", join(ROOT, "node_modules/@types"), "main.ts"];
  return spawnSync(join(ROOT, "node_modules/.bin/tsc"), args, { encoding: "utf8", cwd: root, timeout: 60_000 }).stdout;
}

/** What would be published of a package. */
function packed(name: string): readonly string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = spawnSync("npm", args, { encoding: "utf8", cwd: join(ROOT, "packages", name), timeout: 60_000 });
  const found = stdout.match(/"path": "[^"]+"/g) ?? [];
  return found.map((line) => line.slice('"path": "'.length, -1));
}

describe("build", () => {
  it("gives packages that run without our sources", () => {
    const build = spawnSync(process.execPath, [join(ROOT, "scripts/build.ts")], { encoding: "utf8", timeout: 120_000 });
    expect(build.stderr).toBe("");
    expect(build.status).toBe(0);
    const program =
      'const { createRuntime } = await import("awaken"); const { scripted, text } = await import("awaken/testing");' +
      'const runtime = createRuntime({ providers: { s: scripted([text("built")]) }, models: { m: { provider: "s", model: "s" } }, agents: { a: { model: "m" } } });' +
      'console.log((await runtime.run({ agent: "a", input: "hi" })).text);';
    const env = { ...process.env, NODE_OPTIONS: "" };
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8", cwd: ROOT, env, timeout: 30_000 });
    expect(run.stdout).toBe("built\n");
    expect(run.status).toBe(0);

    // Declarations are sound by themselves, without skipLibCheck.
    expect(typeErrors()).toBe("");

    for (const name of PACKAGES) {
      const files = packed(name);
      expect(files).toEqual(
        expect.arrayContaining(["README.md", "LICENSE", "package.json", "dist/index.js.map", "dist/index.d.ts.map", "src/index.ts"]),
      );
      expect(files.filter((file) => /\.test\.|\/test-|test-support/.test(file))).toEqual([]);
    }
  }, 240_000);
});

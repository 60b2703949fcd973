import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle, PARTS } from "./core-bundle.ts";
import { removeTree, writeLastingTree } from "./write-tree.ts";

const ROOT = join(import.meta.dirname, "..");
const PACKAGES = ["contract", "runtime", "providers", "stores", "extensions", "server", "client", "awaken"];

/** By path: which of them is called `tsc` is up to npm. */
const COMPILERS = {
  "5.9": "typescript-5.9/lib/tsc.js",
  "6.0": "typescript-6.0/lib/tsc.js",
  "7.0": "typescript/bin/tsc",
} as const;

/** What a user writes, with every entry of the package. */
const PROGRAM = `
import { createRuntime, defineTool } from "awaken";
import { defineConfig } from "awaken/config";
import { deferredTools } from "awaken/deferred-tools";
import { permission, remember } from "awaken/permission";
import { postgresStore } from "awaken/postgres";
import { reminder } from "awaken/reminder";
import { sqliteStore } from "awaken/sqlite";
import { scripted, text } from "awaken/testing";
import * as z from "zod";

const weather = defineTool({ id: "weather", description: "", input: z.object({ city: z.string() }), execute: async ({ city }) => ({ city }) });
const options = { providers: { s: scripted([text("hi")]) }, models: { m: { provider: "s", model: "x" } }, agents: { a: { model: "m" } }, tools: [weather] };
export const runtime = createRuntime({ ...options, store: sqliteStore("a.db") });
export default defineConfig(options);
export const result = await runtime.run({ agent: "a", input: "hi", output: z.object({ a: z.string() }) });
if (result.status === "done") { const a: string = result.output.a; console.log(a); }
// @ts-expect-error a failed run has no output: if the types were lost, this would pass
if (result.status === "failed") console.log(result.output.a);
export const plugins = [permission(), reminder({ rules: [{ tool: "a", message: { target: "system", content: "b" } }] }), deferredTools()];
export const metadata: object = remember().metadata;
export const make = () => postgresStore("postgres://localhost/a");
`;

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function readManifest(name: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, "packages", name, "package.json"), "utf8"));
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", cwd, timeout: 600_000 });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

interface Tarball {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** All packages as they would be published, in a folder. */
function pack(root: string): readonly Tarball[] {
  const args = ["pack", "--json", "--ignore-scripts", "--workspaces", "--pack-destination", root];
  const made: Readonly<Record<string, Tarball>> | readonly Tarball[] = JSON.parse(run("npm", args, ROOT));
  return Object.values(made);
}

/** Unpacks a package where `npm install` would. */
function install({ name, filename }: Tarball, root: string): void {
  const folder = join(root, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  run("tar", ["-xzf", join(root, filename), "--strip-components=1", "-C", folder], root);
}

interface Project {
  readonly root: string;
  readonly tarballs: readonly Tarball[];
}

/** A project with the tarballs and what they depend on. Optional peers are not there. */
function writeProject(): Project {
  const manifests = PACKAGES.map(readManifest);
  const entries = manifests.flatMap(({ name, exports }) => Object.keys(exports).map((key) => name + key.slice(1)));
  const everything = entries.map((entry, index) => `export * as e${index} from "${entry}";`).join("\n");
  const root = writeLastingTree({ "main.ts": PROGRAM, "everything.ts": everything, "package.json": '{ "type": "module" }' });
  const tarballs = pack(root);
  for (const tarball of tarballs) install(tarball, root);
  const own = new Set(manifests.map(({ name }) => name));
  const needed = new Set(["zod", "@types/node", ...manifests.flatMap(({ dependencies = {} }) => Object.keys(dependencies))]);
  for (const name of needed) {
    if (own.has(name)) continue;
    const path = join(root, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), path);
  }
  return { root, tarballs };
}

/** The modules that a file was made of. */
function sourcesOf(map: string): readonly string[] {
  const { sources }: { readonly sources: readonly string[] } = JSON.parse(readFileSync(map, "utf8"));
  return sources.map((source) => join(dirname(map), source));
}

let made: Project | undefined;

/** Made once, when the packages are built. */
function project(): Project {
  made ??= writeProject();
  return made;
}

describe("build", () => {
  afterAll(() => {
    if (made !== undefined) removeTree(made.root);
  });
  beforeAll(() => {
    const build = spawnSync(process.execPath, [join(ROOT, "scripts/build.ts")], { encoding: "utf8", timeout: 600_000 });
    expect(build.stderr).toBe("");
    expect(build.status).toBe(0);
  });

  it("gives packages that run without our sources", () => {
    const program =
      'const { createRuntime } = await import("awaken"); const { scripted, text } = await import("awaken/testing");' +
      'const runtime = createRuntime({ providers: { s: scripted([text("built")]) }, models: { m: { provider: "s", model: "s" } }, agents: { a: { model: "m" } } });' +
      'console.log((await runtime.run({ agent: "a", input: "hi" })).text);';
    const env = { ...process.env, NODE_OPTIONS: "" };
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8", cwd: ROOT, env, timeout: 600_000 });
    expect(run.stdout).toBe("built\n");
    expect(run.status).toBe(0);
  });

  it.each(["contract", "runtime"])("joins the modules of %s, with maps that lead to its sources", (name) => {
    const dist = join(ROOT, "packages", name, "dist");
    const files = readdirSync(dist, { recursive: true, encoding: "utf8" });
    expect(files.filter((file) => file.endsWith(".js")).length).toBeLessThan(45);
    const sources = files.filter((file) => file.endsWith(".js.map")).flatMap((map) => sourcesOf(join(dist, map)));
    expect(sources.length).toBeGreaterThan(50);
    expect(sources.filter((source) => !existsSync(source))).toEqual([]);
  });

  it.each(PARTS)("$name is no larger as installed than it was", async ({ source, ceilingInstalled }) => {
    const { gzipBytes } = await bundle(source, { hasZod: false, root: project().root });
    expect(gzipBytes).toBeLessThanOrEqual(ceilingInstalled);
  });

  it.each(PARTS)("$name: no file that is loaded at once has a module joined to it that is not", async ({ source }) => {
    const { root } = project();
    const { modulesAtOnce } = await bundle(source, { hasZod: false, keepsConstants: true });
    const needed = new Set(modulesAtOnce.map((file) => relative(join(ROOT, "packages"), file)));
    const installed = await bundle(source, { hasZod: false, root });
    const sources = installed.modulesAtOnce.filter((file) => file.endsWith(".js")).flatMap((file) => sourcesOf(`${file}.map`));
    const names = sources.map((file) => relative(join(root, "node_modules"), file).replace("@awaken/", ""));
    expect(names.length).toBeGreaterThan(200);
    expect(names.filter((name) => !needed.has(name))).toEqual([]);
  });

  it("publishes sources and maps, and no tests", () => {
    const { tarballs } = project();
    expect(tarballs.map(({ name }) => name).sort()).toEqual(PACKAGES.map((name) => readManifest(name).name).sort());
    for (const tarball of tarballs) {
      const files = tarball.files.map(({ path }) => path);
      expect(files).toEqual(
        expect.arrayContaining(["README.md", "LICENSE", "package.json", "dist/index.js.map", "dist/index.d.ts.map", "src/index.ts"]),
      );
      expect(files.filter((file) => /\.test\.|\/test-|test-support/.test(file))).toEqual([]);
    }
  });

  it("gives tarballs against which a strict program compiles without skipLibCheck on TypeScript 5.9, 6.0 and 7.0", () => {
    const { root: folder } = project();
    const language = ["--target", "es2024", "--module", "nodenext", "--types", "node"];
    for (const [version, path] of Object.entries(COMPILERS)) {
      const compiler = join(ROOT, "node_modules", path);
      expect(run(process.execPath, [compiler, "--version"], folder)).toContain(`Version ${version}.`);
      // The compiler's own library is not what is in question, and a fifth of the work.
      const checks = ["--strict", "--noEmit", "--skipLibCheck", "false", "--skipDefaultLibCheck"];
      const args = [compiler, ...checks, ...language, "main.ts", "everything.ts"];
      const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", cwd: folder, timeout: 600_000 });
      expect({ version, errors: stdout }).toEqual({ version, errors: "" });
    }
  }, 900_000);

  it("gives tarballs in which an optional package that is not installed is one line that names the install", () => {
    const program = `
      import { createRuntime } from "awaken";
      import { mcp } from "awaken/mcp";
      import { observability, openTelemetry, prometheus } from "awaken/observability";
      import { scripted, text } from "awaken/testing";
      const plugins = [
        mcp({ servers: { s: { command: "nothing" } } }),
        observability({ sinks: [openTelemetry()] }),
        observability({ sinks: [prometheus()] }),
      ];
      for (const plugin of plugins) {
        const runtime = createRuntime({
          providers: { s: scripted([text("hi")]) },
          models: { m: { provider: "s", model: "s" } },
          agents: { a: { model: "m", plugins: [plugin.id] }, plain: { model: "m" } },
          plugins: [plugin],
        });
        console.log(await runtime.initialize().then(() => "ready", ({ message }) => message));
        console.log((await runtime.run({ agent: "plain", input: "hi" })).text);
        await runtime.close();
      }`;
    const lines = run(process.execPath, ["--input-type=module", "-e", program], project().root).trim().split("\n");
    expect(lines).toEqual([
      expect.stringMatching(/mcp\(\) needs the package @modelcontextprotocol\/client: npm install @modelcontextprotocol\/client@2$/),
      "hi",
      expect.stringMatching(/openTelemetry\(\) needs the package @opentelemetry\/api: npm install @opentelemetry\/api$/),
      "hi",
      expect.stringMatching(/prometheus\(\) needs the package prom-client: npm install prom-client$/),
      "hi",
    ]);
  }, 900_000);

  it("the command tsc is TypeScript 7, whatever others are installed beside it", () => {
    expect(run(join(ROOT, "node_modules/.bin/tsc"), ["--version"], ROOT)).toContain("Version 7.");
  });
});

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Builds each package into its dist/, in the order of their dependencies: each is compiled against what the ones before it emitted.

const ROOT = join(import.meta.dirname, "..");
const CACHE = join(ROOT, "node_modules/.cache/awaken/build");
const PACKAGES = ["contract", "runtime", "providers", "stores", "extensions", "server", "client", "awaken"];

const compilerOptions = {
  customConditions: [],
  noEmit: false,
  declaration: true,
  // Sources are published with them, so that an editor shows the code itself.
  declarationMap: true,
  allowImportingTsExtensions: false,
  rewriteRelativeImportExtensions: true,
  sourceMap: true,
  types: ["node"],
};

function build(name: string): void {
  const source = join(ROOT, "packages", name, "src");
  const outDir = join(ROOT, "packages", name, "dist");
  rmSync(outDir, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  const config = join(CACHE, `${name}.json`);
  const tests = ["**/*.test.ts", "**/*.test-d.ts", "**/*.test-support.ts", "**/test-*.ts"];
  const project = {
    extends: join(ROOT, "tsconfig.base.json"),
    compilerOptions: { ...compilerOptions, rootDir: source, outDir, typeRoots: [join(ROOT, "node_modules/@types")] },
    include: [join(source, "**/*.ts")],
    exclude: tests.map((pattern) => join(source, pattern)),
  };
  if (name === "providers") project.exclude.push(join(source, "testing/**"));
  writeFileSync(config, JSON.stringify(project));
  const { status } = spawnSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", config], { stdio: "inherit" });
  if (status !== 0) throw new Error(`${name} does not build`);
  console.log(`built ${name}`);
}

for (const name of PACKAGES) build(name);

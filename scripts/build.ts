import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { bundle, PARTS } from "./core-bundle.ts";

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

/** They read nothing that lies beside them, so it does not matter in which file their code is: importing a dozen files is four times as fast as some hundred. */
const JOINED = ["contract", "runtime"];

/** What is loaded together. */
interface Group {
  readonly name: string;
  readonly modules: ReadonlySet<string>;
}

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default: string }>>;
}

/**
 * The modules of a package in one file for each of its entries, with what they share, and one for each part that is loaded later. What every
 * program loads at once is one file, whatever parts use of it besides, and what a program needs only without a store or only with that in memory is
 * another: a bundler takes a file apart no further, so what stands in one with code that is needed later is loaded with it.
 */
async function joinModules(name: string, groups: readonly Group[]): Promise<void> {
  const folder = join(ROOT, "packages", name);
  const dist = join(folder, "dist");
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = Object.values(manifest.exports).map((entry) => entry.default.replace("./dist/", ""));
  const isEntry = new Set(entries.map((entry) => join(dist, entry)));
  const joining = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry.replace(/\.js$/, ""), join(dist, entry)])),
    platform: "neutral",
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    plugins: [
      {
        name: "maps of the compiler",
        load: (id) => ({ code: readFileSync(id, "utf8"), map: readFileSync(`${id}.map`, "utf8") }),
      },
    ],
  });
  const { output } = await joining.generate({
    format: "esm",
    dir: dist,
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "parts/[name].js",
    codeSplitting: {
      groups: groups.map(({ name: group, modules }) => ({ name: group, test: (id: string) => modules.has(id) && !isEntry.has(id) })),
    },
  });
  await joining.close();
  for (const file of globSync("**/*.js{,.map}", { cwd: dist })) rmSync(join(dist, file));
  for (const file of output) {
    const path = join(dist, file.fileName);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.type === "chunk" ? file.code : file.source);
  }
}

for (const name of PACKAGES) build(name);
const atOnce = await Promise.all(
  PARTS.map(async ({ group, source }): Promise<Group> => {
    const { modulesAtOnce } = await bundle(source, { hasZod: false, isBuilt: true, keepsConstants: true });
    return { name: group, modules: new Set(modulesAtOnce) };
  }),
);
const shared = atOnce.flatMap(({ modules }) => [...modules]).filter((module) => atOnce.every(({ modules }) => modules.has(module)));
// A module is in the first group that has it, with what it imports.
const groups = [{ name: "core", modules: new Set(shared) }, ...atOnce];
for (const name of JOINED) await joinModules(name, groups);

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FIRST_PROGRAM } from "../../scripts/core-bundle.ts";
import { installInto, npm, PEERS_FOLDER, run } from "./install.ts";
import { type Peer, ZOD_VERSION } from "./peer-list.ts";
import { median } from "./statistics.ts";

// W7: what a user waits for and downloads before the first run. Every target gets a clean install of its own.

const ROOT = dirname(dirname(import.meta.dirname));
const PACKAGES = ["contract", "runtime", "providers", "stores", "extensions", "server", "client", "awaken"];

export interface Target {
  readonly name: string;
  readonly folder: string;
  readonly modules: readonly string[];
  readonly installMiB: number;
  readonly packages: number;
}

/** What a program is installed with, and what a bundler is given of it. */
export interface Entry {
  readonly name: string;
  readonly source: string;
  readonly target: Target;
}

interface OwnEntry {
  readonly name: string;
  readonly packages: readonly string[];
  readonly source: string;
}

const OURS: readonly OwnEntry[] = [
  { name: "awaken", packages: PACKAGES, source: 'export { createRuntime, defineTool, memoryStore } from "awaken";' },
  {
    name: "awaken, runtime and memory store",
    packages: ["contract", "runtime", "stores"],
    source: 'export { createRuntime, defineTool } from "@awaken/runtime"; export { memoryStore } from "@awaken/stores/memory";',
  },
  { name: "awaken, runtime alone", packages: ["contract", "runtime"], source: FIRST_PROGRAM },
];

export const modulesOf = (entry: string): readonly string[] => [...entry.matchAll(/from "([^"]+)"/g)].map(([, name = ""]) => name);

function weigh(name: string, folder: string, modules: readonly string[]): Target {
  const files = readdirSync(join(folder, "node_modules"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name: file }) => sum + statSync(join(parentPath, file)).size, 0);
  const lock: { readonly packages: object } = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8"));
  return { name, folder, modules, installMiB: bytes / 2 ** 20, packages: Object.keys(lock.packages).length };
}

/** What the workers and the archives are made of. */
export function buildOurs(): void {
  run(process.execPath, [join(ROOT, "scripts/build.ts")], ROOT);
}

/** The packages as users get them: packed as they were built, and installed from their archives away from the workspace. */
export function installOurs(): { readonly entries: readonly Entry[]; close(): void } {
  const folder = mkdtempSync(join(tmpdir(), "awaken-bench-install-"));
  const archives = new Map(PACKAGES.map((name) => [name, `file:${join(folder, pack(name, folder))}`]));
  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name === "awaken" ? name : `@awaken/${name}`, archives.get(name) ?? ""]));
  const entries = OURS.map(({ name, packages, source }) => {
    const place = join(folder, packages.join("-"));
    installInto(place, { dependencies: pick(packages) });
    const target = weigh(name, place, modulesOf(source));
    // Ours come without a schema library; the program whose types are counted brings one.
    if (packages === PACKAGES) installInto(place, { dependencies: { ...pick(packages), zod: ZOD_VERSION } });
    return { name, source, target };
  });
  return {
    entries,
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function pack(name: string, folder: string): string {
  const packed: readonly { readonly filename: string }[] = JSON.parse(
    npm(["pack", "--json", `--pack-destination=${folder}`], join(ROOT, "packages", name)),
  );
  return packed[0]?.filename ?? "";
}

export function installPeer({ name, dependencies, overrides, core, entry }: Peer): Target {
  const folder = join(PEERS_FOLDER, "clean", name);
  const isCore = ([dependency]: [string, string]) => core === undefined || core.includes(dependency);
  const needed = Object.fromEntries(Object.entries(dependencies).filter(isCore));
  installInto(folder, { dependencies: needed, ...(overrides === undefined ? undefined : { overrides }) });
  return weigh(name, folder, modulesOf(entry));
}

function start({ folder, modules }: Pick<Target, "folder" | "modules">): number {
  const program = `Promise.all(${JSON.stringify(modules)}.map((name) => import(name))).then(() => process.exit(0))`;
  const begin = performance.now();
  run(process.execPath, ["-e", program], folder);
  return performance.now() - begin;
}

/** Milliseconds that importing takes, over a Node that imports nothing, by name of the target. */
export function timeImports(targets: readonly Target[], rounds: number): ReadonlyMap<string, number> {
  const samples = new Map<string, number[]>(targets.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    const bare = start({ folder: tmpdir(), modules: [] });
    for (const target of targets) {
      const over = start(target) - bare;
      if (round >= 0) samples.get(target.name)?.push(over);
    }
  }
  return new Map([...samples].map(([name, values]) => [name, median(values)]));
}

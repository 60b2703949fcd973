import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

// A global set-up of vitest. Tests start hundreds of processes, and most of what one costs is that Node looks up and loads our modules, a
// file each. So the programs are made once for a run, of the sources as they are, into few files.

const ROOT = join(import.meta.dirname, "..");
const CACHE = join(ROOT, "node_modules/.cache/awaken");
const PACKAGE = "packages/awaken";
const OURS = /^(\.|\/|@awaken\/|awaken(\/|$))/;

/** A map of exports, whose conditions lead to a file of a source. */
type Exports = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

const sourceOf = (found: Exports[string]): string | undefined => (typeof found === "string" ? undefined : found["awaken-source"]);

const scriptOf = (source: string): string => source.replace(/\.ts$/, ".js");

async function build(folder: string): Promise<void> {
  const manifest: { readonly exports: Exports } = JSON.parse(readFileSync(join(ROOT, PACKAGE, "package.json"), "utf8"));
  const sources = Object.entries(manifest.exports).flatMap(([name, found]) => {
    const source = sourceOf(found);
    return source === undefined ? [] : [[name, source] as const];
  });
  const entries = [
    `${PACKAGE}/src/cli/main.ts`,
    ...sources.map(([, source]) => join(PACKAGE, source)),
    ...globSync("e2e/*/*-process.ts", { cwd: ROOT }),
  ];
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry.slice(0, -".ts".length), join(ROOT, entry)])),
    cwd: ROOT,
    platform: "node",
    external: (id) => !OURS.test(id),
    resolve: { conditionNames: ["awaken-source", "node", "import", "default"] },
    onLog() {},
  });
  // All in the folder of the command: it finds its package from where it stands.
  await bundle.write({ dir: folder, entryFileNames: "[name].js", chunkFileNames: `${PACKAGE}/src/cli/[name]-[hash].js` });
  await bundle.close();
  const exports = Object.fromEntries(sources.map(([name, source]) => [name, scriptOf(source)]));
  writeFileSync(join(folder, PACKAGE, "package.json"), JSON.stringify({ ...manifest, exports }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  // By this a command knows that it is one of a checkout.
  symlinkSync(join(ROOT, "packages/contract"), join(folder, "packages/contract"));
}

export default async function setup(): Promise<() => void> {
  if (process.env["AWAKEN_TEST_PROGRAMS"]) return () => {};
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "programs-"));
  await build(folder);
  process.env["AWAKEN_TEST_PROGRAMS"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RolldownOutput, rolldown } from "rolldown";

// A global set-up of vitest. Tests start hundreds of processes, and most of what one costs is that Node looks up and loads our modules, a
// file each. So the programs are made once for a run, of the sources as they are, into few files.

const ROOT = join(import.meta.dirname, "..");
const CACHE = join(ROOT, "node_modules/.cache/awaken");
const PACKAGE = "packages/awaken";
const COMMAND = `${PACKAGE}/src/cli/main.ts`;
const OURS = /^(\.|\/|@awaken\/|awaken(\/|$))/;
/** Some eighty files, of which a start would look up and load each. */
const ZOD = /^zod(\/|$)/;

/** A map of exports, whose conditions lead to a file of a source. */
type Exports = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

const sourceOf = (found: Exports[string]): string | undefined => (typeof found === "string" ? undefined : found["awaken-source"]);

const scriptOf = (source: string): string => source.replace(/\.ts$/, ".js");

/** The modules that an entry and the files that it imports at once are made of. */
function modulesAtOnce(entry: string, output: RolldownOutput["output"]): readonly string[] {
  const chunks = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])));
  const names = new Set([entry]);
  for (const name of names) for (const other of chunks.get(name)?.imports ?? []) names.add(other);
  return [...names].flatMap((name) => chunks.get(name)?.moduleIds ?? []);
}

async function build(folder: string): Promise<void> {
  const manifest: { readonly exports: Exports } = JSON.parse(readFileSync(join(ROOT, PACKAGE, "package.json"), "utf8"));
  const sources = Object.entries(manifest.exports).flatMap(([name, found]) => {
    const source = sourceOf(found);
    return source === undefined ? [] : [[name, source] as const];
  });
  const programs = globSync("e2e/*/*-process.ts", { cwd: ROOT });
  const entries = [COMMAND, ...sources.map(([, source]) => join(PACKAGE, source)), ...programs];
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry.slice(0, -".ts".length), join(ROOT, entry)])),
    cwd: ROOT,
    platform: "node",
    external: (id) => !OURS.test(id) && !ZOD.test(id),
    resolve: { conditionNames: ["awaken-source", "node", "import", "default"] },
    onLog() {},
  });
  // All in the folder of the command: it finds its package from where it stands.
  const settings = { dir: folder, entryFileNames: "[name].js", chunkFileNames: `${PACKAGE}/src/cli/[name]-[hash].js` };
  const { output } = await bundle.generate(settings);
  const loads = programs.map((program) => new Set(modulesAtOnce(scriptOf(program), output)));
  const command = new Set(modulesAtOnce(scriptOf(COMMAND), output));
  // What most programs load at once is one file. It holds nothing that the command needs for its help alone.
  const isCore = (id: string) =>
    !id.includes("/zod/") && !command.has(id) && loads.filter((load) => load.has(id)).length > loads.length / 2;
  const groups = [{ name: "core", test: isCore, includeDependenciesRecursively: false }];
  await bundle.write({ ...settings, codeSplitting: { groups } });
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

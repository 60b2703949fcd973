import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix, resolve } from "node:path";
import { findCycles } from "./find-cycles.ts";
import { checkRoom, checkRoomImport, PACKAGE_IMPORTS, RESERVED, TYPES_ONLY } from "./layer-rules.ts";
import { type Import, scanImports } from "./scan-imports.ts";
import { type Finding, isTest, listFolders, listSources } from "./source-files.ts";

interface Manifest {
  readonly name?: string;
  readonly exports?: string | Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

interface Unit {
  readonly dir: string;
  readonly name: string;
  readonly manifest: Manifest;
}

interface Source {
  readonly file: string;
  /** The package that holds the file; examples, benchmarks and scripts stand beside the packages. */
  readonly unit: Unit | undefined;
  readonly imports: readonly Import[];
}

const BESIDE = ["examples", "bench", "e2e", "scripts"];
/** Beside the tests there is what they share, which is not packed. */
const TEST_SUPPORT = /\/test-[^/]+\.ts$/;
const AWAKEN = /^(@awaken\/[^/]+|awaken)(\/.+)?$/;

function loadUnit(root: string, dir: string): Unit {
  const path = join(root, dir, "package.json");
  const manifest: Manifest = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  return { dir, manifest, name: dir.startsWith("apps/") ? basename(dir) : (manifest.name ?? basename(dir)) };
}

function loadSources(root: string, units: readonly Unit[]): Source[] {
  const load = (folder: string, unit: Unit | undefined): Source[] =>
    listSources(root, folder).map((file) => ({ file, unit, imports: scanImports(readFileSync(join(root, file), "utf8")) }));
  return [...units.flatMap((unit) => load(unit.dir, unit)), ...BESIDE.flatMap((folder) => load(folder, undefined))];
}

const isInside = (dir: string, file: string): boolean => file.startsWith(`${dir}/`);
const targetOf = (file: string, specifier: string): string => posix.join(posix.dirname(file), specifier);

function isExported(manifest: Manifest, subpath: string): boolean {
  const { exports } = manifest;
  if (exports === undefined || typeof exports === "string") return subpath === ".";
  return Object.keys(exports).some((key) => {
    const [head = "", tail] = key.split("*");
    return tail === undefined ? key === subpath : subpath.startsWith(head) && subpath.endsWith(tail);
  });
}

function isDeclared(manifest: Manifest, name: string, forTest: boolean): boolean {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = manifest;
  return [dependencies, peerDependencies, optionalDependencies, forTest ? devDependencies : {}].some((list) => list && name in list);
}

function checkDirection(source: Source, unit: Unit, name: string, typeOnly: boolean): string[] {
  const forTest = isTest(source.file);
  if (name === unit.name) return forTest ? [] : [`imports its own package by name: ${name}`];
  const found: string[] = [];
  const allowed = PACKAGE_IMPORTS.get(unit.name) ?? [];
  if (!forTest && allowed !== "all" && !allowed.includes(name)) found.push(`${unit.name} must not import ${name}`);
  else if (!forTest && TYPES_ONLY.has(unit.name) && !typeOnly)
    found.push(`${unit.name} imports types only: write "import type" for ${name}`);
  if (!isDeclared(unit.manifest, name, forTest)) found.push(`${name} is not declared in ${unit.dir}/package.json`);
  return found;
}

function checkNamed(source: Source, { specifier, typeOnly }: Import, units: readonly Unit[]): string[] {
  const [, name = "", subpath = ""] = AWAKEN.exec(specifier) ?? [];
  if (name === "") return [];
  const found = source.unit === undefined ? [] : checkDirection(source, source.unit, name, typeOnly);
  const target = units.find((unit) => unit.name === name);
  if (target === undefined) return [...found, `unknown package ${name}`];
  if (RESERVED.get(specifier)?.includes(source.file) === false) return [...found, `${specifier} is not for this file`];
  if (/^\/src(?:\/|$)/.test(subpath)) return [...found, `deep import of another package's src: ${specifier}`];
  return isExported(target.manifest, `.${subpath}`) ? found : [...found, `${name} does not export ".${subpath}"`];
}

function checkRelative({ file, unit }: Source, specifier: string, units: readonly Unit[]): string[] {
  const target = targetOf(file, specifier);
  const owner = units.find(({ dir }) => isInside(dir, target));
  if (unit === undefined) return owner === undefined ? [] : [`import ${owner.name} by its name, not ${specifier}`];
  if (!isInside(unit.dir, target)) return [`relative import leaves the package: ${specifier}`];
  const src = `${unit.dir}/src`;
  if (isTest(file) || TEST_SUPPORT.test(file) || !isInside(src, file) || !isInside(src, target)) return [];
  const message = checkRoomImport(unit.name, posix.relative(src, file), posix.relative(src, target));
  return message === undefined ? [] : [message];
}

function checkSource(source: Source, units: readonly Unit[]): Finding[] {
  const src = `${source.unit?.dir}/src`;
  const room = isInside(src, source.file) && !isTest(source.file) && checkRoom(source.unit?.name ?? "", posix.relative(src, source.file));
  const messages = source.imports.flatMap((found) =>
    found.specifier.startsWith(".") ? checkRelative(source, found.specifier, units) : checkNamed(source, found, units),
  );
  return [...new Set(room ? [room, ...messages] : messages)].map((message) => ({ file: source.file, message }));
}

function checkCycles(sources: readonly Source[]): Finding[] {
  const files = new Set(sources.map(({ file }) => file));
  const graph = new Map(
    sources.map(({ file, imports }) => {
      const targets = imports.filter(({ specifier }) => specifier.startsWith(".")).map(({ specifier }) => targetOf(file, specifier));
      return [file, [...new Set(targets)].filter((target) => files.has(target))];
    }),
  );
  return findCycles(graph).map((path) => ({ file: path[0] ?? "", message: `import cycle: ${path.join(" → ")}` }));
}

function inspect(root: string): { count: number; findings: Finding[] } {
  const units = [...listFolders(root, "packages"), ...listFolders(root, "apps")].map((dir) => loadUnit(root, dir));
  const sources = loadSources(root, units);
  const unknown = units
    .filter(({ name }) => !PACKAGE_IMPORTS.has(name))
    .map(({ dir, name }) => ({ file: dir, message: `unknown package ${name}` }));
  const none = sources.length === 0 ? [{ file: root, message: "no source files" }] : [];
  return {
    count: sources.length,
    findings: [...none, ...unknown, ...sources.flatMap((source) => checkSource(source, units)), ...checkCycles(sources)],
  };
}

export const checkLayers = (root: string): Finding[] => inspect(root).findings;

if (import.meta.main) {
  const { count, findings } = inspect(resolve(process.argv[2] ?? dirname(import.meta.dirname)));
  for (const { file, message } of findings) console.log(`${file}: ${message}`);
  if (findings.length === 0) console.log(`layers: ${count} files, ok`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

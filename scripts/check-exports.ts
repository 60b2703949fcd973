import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Finding, isTest, listFolders, listSources } from "./source-files.ts";

// An index holds what others use. A name without a user outside its package stands right below a comment `// Public: why`, alone or as all
// of a statement, or goes; one that has users has no mark. What tests alone import has no user, but for the entries that are made for tests.

/** The facade is what users import: all of it is public. */
const FACADES = new Set(["awaken"]);
const BESIDE = ["examples", "bench", "e2e", "scripts", "apps"];
const CLAUSE = /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+"([^"]+)"/g;
const WHOLE = /\bimport\s+(?:type\s+)?\*\s+as\s+(\w+)\s+from\s+"([^"]+)"/g;
const LOADED = /\{([^{}]*)\}\s*=\s*await\s+import\("([^"]+)"\)/g;
const EXPORT = /(^\/\/ Public: \S.*\n)?^export\s+(?:type\s+)?\{([^}]*)\}/gm;
const DECLARED = /(^\/\/ Public: \S.*\n)?^export\s+(?:async\s+)?(?:const|function\*?|class|interface|type|enum)\s+(\w+)/gm;
const MARKED_NAME = /^\s*\/\/ Public: \S.*\n\s*(.+?),?\s*$/gm;
const FOR_TESTS = /\/(?:testing|conformance)$/;

interface Entry {
  readonly file: string;
  readonly specifier: string;
}

interface Manifest {
  readonly name?: string;
  readonly exports?: Readonly<Record<string, { readonly "awaken-source"?: string }>>;
}

export interface ExportReport {
  readonly findings: readonly Finding[];
  /** Names a package exports, over all its entries. */
  readonly counts: ReadonlyMap<string, number>;
}

/** The names before `as`, or behind it: what another module gives, or what this one gives. */
function namesOf(list: string, side: "given" | "taken"): string[] {
  const entries = list.replace(/\/\/.*$/gm, "").split(",");
  return entries.flatMap((entry) => {
    const [first, last = first] = entry
      .trim()
      .replace(/^type\s+/, "")
      .split(/\s+as\s+|\s*:\s*/);
    const name = side === "given" ? last : first;
    return name === undefined || name === "" ? [] : [name];
  });
}

function entriesOf(root: string, dir: string): { readonly name: string; readonly entries: readonly Entry[] } {
  const path = join(root, dir, "package.json");
  const { name = dir, exports = {} }: Manifest = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  const entries = Object.entries(exports).flatMap(([subpath, { "awaken-source": source }]) =>
    source === undefined ? [] : [{ file: join(dir, source), specifier: `${name}${subpath.slice(1)}` }],
  );
  return { name, entries };
}

const isTestFile = (file: string): boolean => isTest(file) || file.startsWith("e2e/");

/** `specifier name` of everything that the file takes from a package. */
function usesIn(text: string): string[] {
  const whole = [...text.matchAll(WHOLE)].flatMap(([, alias = "", specifier = ""]) =>
    [...text.matchAll(new RegExp(`(?<![\\w.$])${alias}\\.(\\w+)`, "g"))].map(([, name = ""]) => `${specifier} ${name}`),
  );
  const named = [CLAUSE, LOADED].flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap(([, names = "", specifier = ""]) => namesOf(names, "taken").map((name) => `${specifier} ${name}`)),
  );
  return [...whole, ...named];
}

function collectUses(root: string, dirs: readonly string[]): ReadonlyMap<string, Set<string>> {
  const users = new Map<string, Set<string>>();
  for (const dir of [...dirs, ...BESIDE])
    for (const file of listSources(root, dir))
      for (const use of usesIn(readFileSync(join(root, file), "utf8")))
        if (!isTestFile(file) || FOR_TESTS.test(use.split(" ", 1)[0] ?? "")) users.set(use, (users.get(use) ?? new Set()).add(dir));
  return users;
}

interface Given {
  readonly name: string;
  readonly isMarked: boolean;
}

function givenIn(mark: string | undefined, list: string): Given[] {
  const marked = new Set([...list.matchAll(MARKED_NAME)].flatMap(([, entry = ""]) => namesOf(entry, "given")));
  return namesOf(list, "given").map((name) => ({ name, isMarked: mark !== undefined || marked.has(name) }));
}

const exportsOf = (text: string): readonly Given[] => [
  ...[...text.matchAll(EXPORT)].flatMap(([, mark, list = ""]) => givenIn(mark, list)),
  ...[...text.matchAll(DECLARED)].map(([, mark, name = ""]) => ({ name, isMarked: mark !== undefined })),
];

export function checkExports(root: string): ExportReport {
  const dirs = listFolders(root, "packages");
  const users = collectUses(root, dirs);
  const findings: Finding[] = [];
  const counts = new Map<string, number>();
  for (const dir of dirs) {
    const { name, entries } = entriesOf(root, dir);
    for (const { file, specifier } of entries) {
      const text = readFileSync(join(root, file), "utf8");
      if (/^export\s+(?:type\s+)?\*/m.test(text)) findings.push({ file, message: "`export *`: list the names" });
      for (const given of exportsOf(text)) {
        counts.set(name, (counts.get(name) ?? 0) + 1);
        if (FACADES.has(name)) continue;
        const isUsed = [...(users.get(`${specifier} ${given.name}`) ?? [])].some((user) => user !== dir);
        if (isUsed !== given.isMarked) continue;
        const why = isUsed
          ? `has users outside ${name}: it needs no mark that it is public`
          : `has no user outside ${name}, and no mark that it is public`;
        findings.push({ file, message: `${given.name} ${why}` });
      }
    }
  }
  return { findings, counts };
}

if (import.meta.main) {
  const { findings, counts } = checkExports(resolve(process.argv[2] ?? dirname(import.meta.dirname)));
  for (const { file, message } of findings) console.log(`${file}: ${message}`);
  const summary = [...counts].map(([name, count]) => `${name} ${count}`).join(", ");
  console.log(`exports: ${summary}, ${findings.length === 0 ? "ok" : `${findings.length} to look at`}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

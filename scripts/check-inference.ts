import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** What the compiler may spend on a program with 30 state keys and 30 tools, its imports included. */
export const BUDGET = 25_000;

const ROOT = dirname(import.meta.dirname);
const CACHE = join(ROOT, "node_modules/.cache/awaken");
const TSC = join(ROOT, "node_modules/.bin", process.platform === "win32" ? "tsc.cmd" : "tsc");

export function parseInstantiations(diagnostics: string): number | undefined {
  const count = /^Instantiations:\s*([\d,]+)\s*$/m.exec(diagnostics)?.[1];
  return count === undefined ? undefined : Number(count.replaceAll(",", ""));
}

/** What their package.json exports, as far as the program reaches it. */
const ENTRIES = { contract: ["index.ts", "store/index.ts", "spec/index.ts"], runtime: ["index.ts"] } as const;
const PACKAGES = ["contract", "runtime"] as const;

function runTsc(...args: readonly string[]): string {
  const { error, status, stdout, stderr } = spawnSync(TSC, args, { encoding: "utf8", shell: process.platform === "win32" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`tsc ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

/**
 * Writes what a user's compiler reads of our packages: their declarations. From source it would check our own code too, and that
 * cost says nothing about a user's program. Gives the folder back.
 */
function writeDeclarations(): string {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "declarations-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  for (const name of PACKAGES) {
    const rootDir = join(ROOT, "packages", name, "src");
    const compilerOptions = {
      noEmit: false,
      noCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir,
      outDir: join(folder, name),
    };
    const config = join(folder, `${name}.json`);
    writeFileSync(
      config,
      JSON.stringify({
        extends: join(ROOT, "tsconfig.base.json"),
        compilerOptions,
        files: ENTRIES[name].map((file) => join(rootDir, file)),
      }),
    );
    runTsc("-p", config);
  }
  return folder;
}

/** Both counts of the repository's own program, as if a user had written it beside our declarations. */
function checkOwn(): { line: string; isOk: boolean } {
  const folder = writeDeclarations();
  try {
    const place = (name: string) => {
      const file = join(folder, "runtime", name);
      copyFileSync(join(ROOT, "packages/runtime/src", name), file);
      return file;
    };
    const paths = {
      "@awaken/contract": [join(folder, "contract/index.d.ts")],
      "@awaken/contract/*": [join(folder, "contract/*/index.d.ts")],
    };
    return checkInference(place("inference-budget.test-d.ts"), place("inference-baseline.test-d.ts"), BUDGET, paths);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

type Paths = Readonly<Record<string, readonly string[]>>;

/** Type instantiations of a program with one root file, which reads our packages as users do. Throws when it does not compile: its count would mean nothing. */
export function countInstantiations(file: string, paths: Paths = {}): number {
  if (!existsSync(file)) throw new Error(`no such file: ${file}`);
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "inference-"));
  try {
    const config = join(folder, "tsconfig.json");
    writeFileSync(
      config,
      JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), compilerOptions: { paths, customConditions: [] }, files: [file] }),
    );
    // Parallel checkers instantiate shared types once each, so the count would depend on the machine.
    const args = ["--extendedDiagnostics", "--noEmit", "--singleThreaded", "-p", config];
    const { error, status, stdout, stderr } = spawnSync(TSC, args, { encoding: "utf8", shell: process.platform === "win32" });
    if (error !== undefined) throw error;
    if (status !== 0) throw new Error(`${file} does not compile:\n${stdout}${stderr}`);
    const count = parseInstantiations(stdout);
    if (count === undefined) throw new Error(`tsc printed no "Instantiations:" line:\n${stdout}`);
    return count;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The line to print, and whether the program's total is within the budget. */
export function checkInference(program: string, baseline: string, budget: number, paths: Paths = {}): { line: string; isOk: boolean } {
  const total = countInstantiations(program, paths);
  const ours = total - countInstantiations(baseline, paths);
  return { line: `type instantiations: total ${total}, of which ours ${ours} (budget ${budget})`, isOk: total <= budget };
}

if (import.meta.main) {
  const [, , program, baseline, budget] = process.argv;
  try {
    const { line, isOk } =
      program === undefined ? checkOwn() : checkInference(resolve(program), resolve(baseline ?? program), Number(budget ?? BUDGET));
    console.log(line);
    process.exitCode = isOk ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

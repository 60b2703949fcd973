import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

/** Type instantiations of a program with one root file. Throws when it does not compile: its count would mean nothing. */
export function countInstantiations(file: string): number {
  if (!existsSync(file)) throw new Error(`no such file: ${file}`);
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "inference-"));
  try {
    const config = join(folder, "tsconfig.json");
    writeFileSync(config, JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), files: [file] }));
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
export function checkInference(program: string, baseline: string, budget: number): { line: string; isOk: boolean } {
  const total = countInstantiations(program);
  const ours = total - countInstantiations(baseline);
  return { line: `type instantiations: total ${total}, of which ours ${ours} (budget ${budget})`, isOk: total <= budget };
}

if (import.meta.main) {
  const [, , program, baseline, budget] = process.argv;
  try {
    const { line, isOk } = checkInference(
      resolve(program ?? join(ROOT, "packages/runtime/src/inference-budget.test-d.ts")),
      resolve(baseline ?? join(ROOT, "packages/runtime/src/inference-baseline.test-d.ts")),
      Number(budget ?? BUDGET),
    );
    console.log(line);
    process.exitCode = isOk ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

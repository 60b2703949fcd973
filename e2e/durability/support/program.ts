import { type ChildProcess, type ForkOptions, fork } from "node:child_process";
import { join, relative } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");

/** Starts a program of these tests, with `order` as its argument. Where the programs were made for the whole run, the made one: it starts faster. */
export function startProgram(file: string, order: object, options: ForkOptions = {}): ChildProcess {
  const made = process.env["AWAKEN_TEST_PROGRAMS"];
  const source = relative(ROOT, file);
  const isMade = made !== undefined && /^e2e\/[^/]+\/[^/]+-process\.ts$/.test(source);
  const program = isMade ? join(made, source.replace(/ts$/, "js")) : file;
  return fork(program, [JSON.stringify(order)], { ...options, execArgv: ["--conditions=awaken-source"] });
}

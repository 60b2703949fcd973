import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { scanFunctions } from "./scan-functions.ts";
import { type Finding, isTest, listFolders, listSources } from "./source-files.ts";

export const BUDGET = { file: 500, testFile: 800, fn: 60 } as const;

export interface SizeReport {
  readonly findings: readonly Finding[];
  /** Lines of each source file that is not a test, ascending. */
  readonly lengths: readonly number[];
}

const countLines = (text: string): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

function listAll(root: string): string[] {
  const folders = [...listFolders(root, "packages").map((dir) => `${dir}/src`), "scripts", "bench", "examples", "apps"];
  return folders.flatMap((folder) => listSources(root, folder));
}

function checkFile(file: string, text: string): Finding[] {
  const limit = isTest(file) ? BUDGET.testFile : BUDGET.file;
  const lines = countLines(text);
  const long = isTest(file) ? [] : scanFunctions(text).filter((span) => span.lines > BUDGET.fn);
  return [
    ...(lines > limit ? [{ file, message: `${lines} lines (limit ${limit})` }] : []),
    ...long.map((span) => ({
      file: `${file}:${span.line}`,
      message: `function ${span.name} has ${span.lines} lines (limit ${BUDGET.fn})`,
    })),
  ];
}

export function checkSize(root: string): SizeReport {
  const sources = listAll(root).map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
  const lengths = sources.filter(({ file }) => !isTest(file)).map(({ text }) => countLines(text));
  const none = sources.length === 0 ? [{ file: root, message: "no source files" }] : [];
  return {
    findings: [...none, ...sources.flatMap(({ file, text }) => checkFile(file, text))],
    lengths: lengths.sort((left, right) => left - right),
  };
}

/** Nearest rank: the smallest value that at least this share of the values does not exceed. */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? 0;
}

if (import.meta.main) {
  const { findings, lengths } = checkSize(resolve(process.argv[2] ?? dirname(import.meta.dirname)));
  for (const { file, message } of findings) console.log(`${file}: ${message}`);
  const summary = `${lengths.length} source files, median ${percentile(lengths, 0.5)} lines, 90th percentile ${percentile(lengths, 0.9)}`;
  console.log(`size: ${summary}, ${findings.length === 0 ? "ok" : `${findings.length} over budget`}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

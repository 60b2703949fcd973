import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { type DocBlock, missingLine, readBlocks, readRule } from "./doc-blocks.ts";
import type { Finding } from "./source-files.ts";

const PROGRAMS = "examples/api";
const PREAMBLES = "docs/preambles";
/** The repository's compiler options go further than those of most users: a program may ask not to be held to them. */
const OWN_OPTIONS = /^\/\/ @ts-nocheck.*\n/;

/** What a user's project has: `strict`, and that Node runs the files as they are. */
const COMPILER_OPTIONS = {
  strict: true,
  target: "ES2024",
  lib: ["ES2024", "ESNext", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
  module: "NodeNext",
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  noEmit: true,
  jsx: "react-jsx",
  types: ["node"],
  customConditions: ["awaken-source"],
};

const COMPILED: readonly string[] = ["ts", "tsx"];

interface Page {
  /** Path from the root. */
  readonly path: string;
  readonly text: string;
}

export function listPages(root: string): readonly Page[] {
  const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  const paths = ["README.md", ...docs.sort().map((name) => `docs/${name}`)];
  return paths.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

/** A folder that resolves packages as the repository does; it stands outside, because Node strips no types below `node_modules`. */
export function openFolder(root: string): string {
  const folder = mkdtempSync(join(tmpdir(), "awaken-docs-"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  return folder;
}

/** Where a file to compile comes from. */
interface Source {
  readonly path: string;
  /** Line of the origin minus line of the file. */
  readonly offset: number;
}

/** Lays samples out and compiles them all at once. */
class Workbench {
  readonly #root: string;
  readonly #folder: string;
  readonly #sources = new Map<string, Source>();

  constructor(root: string, folder: string) {
    this.#root = root;
    this.#folder = folder;
  }

  put(file: string, code: string, source: Source): void {
    if (this.#sources.has(file)) throw new Error(`${source.path}: '${basename(file)}' is there twice`);
    this.#sources.set(file, source);
    mkdirSync(dirname(join(this.#folder, file)), { recursive: true });
    // Without an import or export it would be a script, and share its names with the others.
    writeFileSync(join(this.#folder, file), `${code}\nexport {};\n`);
  }

  compile(): Finding[] {
    writeFileSync(
      join(this.#folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ["**/*.ts", "**/*.tsx"] }),
    );
    const tsc = join(this.#root, "node_modules/typescript/bin/tsc");
    const args = [tsc, "-p", "tsconfig.json", "--pretty", "false"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: this.#folder, encoding: "utf8" });
    // The packages' sources are held to stricter options elsewhere; under these a few of them mean something else.
    const problems = stdout.split("\n").filter((line) => line !== "" && !/^(?: |\.\.\/|\/)/.test(line));
    if (status !== 0 && stdout === "") return [{ file: "docs", message: `the compiler failed: ${stderr}` }];
    return problems.map((line) => this.#place(line));
  }

  #place(problem: string): Finding {
    const [, file = "", line = "", message = problem] = /^(.+?)\((\d+),\d+\): (.+)$/.exec(problem) ?? [];
    const source = this.#sources.get(file);
    return source === undefined ? { file: file || "docs", message } : { file: `${source.path}:${Number(line) + source.offset}`, message };
  }
}

function checkSample(root: string, bench: Workbench, { path }: Page, block: DocBlock): Finding[] {
  const rule = readRule(path, block);
  const folder = basename(path, ".md");
  const alone = `${folder}/line-${block.line}.${block.language}`;
  const source = { path, offset: block.line - 1 };
  switch (rule.type) {
    case "module":
      bench.put(alone, block.code, source);
      return [];
    case "file":
      bench.put(`${folder}/${rule.name}`, block.code, source);
      return [];
    case "fragment": {
      const preamble = readFileSync(join(root, PREAMBLES, `${rule.preamble}.${block.language}`), "utf8");
      bench.put(alone, preamble + block.code, { path, offset: source.offset - (preamble.split("\n").length - 1) });
      return [];
    }
    case "printed": {
      const missing = missingLine(block.code, readFileSync(join(root, rule.file), "utf8"));
      return missing === undefined ? [] : [{ file: `${path}:${block.line}`, message: `${rule.file} does not have the line: ${missing}` }];
    }
  }
}

/** What GitHub makes of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

const hasAnchor = (text: string, anchor: string): boolean =>
  [...text.matchAll(/^#+ (.+)$/gm)].some(([, heading = ""]) => anchorOf(heading) === anchor);

/** Whether a link leads to a file of the repository, and to a heading of it where it names one. */
function leadsSomewhere(root: string, { path, text }: Page, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const place = resolve(root, dirname(path), file);
  if (!existsSync(place)) return false;
  return anchor === undefined || hasAnchor(file === "" ? text : readFileSync(place, "utf8"), anchor);
}

/** Links and pictures that lead to the repository. */
function checkLinks(root: string, page: Page): Finding[] {
  const targets = [...page.text.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? match[2] ?? "");
  return targets
    .filter((target) => !/^[a-z]+:/.test(target) && !leadsSomewhere(root, page, target))
    .map((target) => ({ file: page.path, message: `there is no ${target}` }));
}

/** Every sample of README.md and docs/*.md, and the programs that docs/api.md prints: one compiler run under plain `strict`. */
export function checkDocs(root: string): Finding[] {
  const folder = openFolder(root);
  try {
    const bench = new Workbench(root, folder);
    const pages = listPages(root);
    const samples = pages.flatMap((page) => readBlocks(page.path, page.text).map((block) => ({ page, block })));
    const findings = samples
      .filter(({ block }) => COMPILED.includes(block.language))
      .flatMap(({ page, block }) => checkSample(root, bench, page, block));
    for (const name of readdirSync(join(root, PROGRAMS)).filter((name) => name.endsWith(".ts"))) {
      const path = `${PROGRAMS}/${name}`;
      bench.put(path, readFileSync(join(root, path), "utf8").replace(OWN_OPTIONS, "\n"), { path, offset: 0 });
    }
    return [...findings, ...pages.flatMap((page) => checkLinks(root, page)), ...bench.compile()];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const findings = checkDocs(resolve(process.argv[2] ?? dirname(import.meta.dirname)));
  for (const { file, message } of findings) console.log(`${file}: ${message}`);
  console.log(findings.length === 0 ? "docs: ok" : `docs: ${findings.length} problems`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

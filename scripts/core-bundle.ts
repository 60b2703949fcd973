import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { type CodeSplittingOptions, type RolldownOutput, rolldown } from "rolldown";

/** What a page downloads for the core, in bytes after minifying and gzip. */
export const TARGET = 70_000;

const ROOT = dirname(import.meta.dirname);

export interface Bundle {
  readonly code: string;
  readonly gzipBytes: number;
  /** What the bundle still asks its host for, by module name. */
  readonly imports: readonly string[];
  /** The files that it is made of, also those that it would load later. */
  readonly modules: readonly string[];
  /** Those that are loaded at once. */
  readonly modulesAtOnce: readonly string[];
}

interface Part {
  readonly name: string;
  /** The file that what no other part loads stands in, in our packages as they are built. */
  readonly group: string;
  /** The text of a module that stands in the root of the repository. */
  readonly source: string;
  /** Nothing may make it larger by accident; above `TARGET` it says how far we are from it. */
  readonly ceiling: number;
  /** The same of our packages as they are installed, whose modules are joined. */
  readonly ceilingInstalled: number;
}

/** What a first program imports: one agent with tools, and no store. */
export const FIRST_PROGRAM = 'export { createRuntime, defineTool } from "@awaken/runtime";';

/** From the loop alone to all that a first program loads. Schema libraries, vendor packages, other stores and the command line are in neither. */
export const PARTS: readonly Part[] = [
  { name: "the runtime", group: "no-store", source: FIRST_PROGRAM, ceiling: 69_990, ceilingInstalled: 69_990 },
  {
    name: "awaken: runtime and memory store",
    group: "store",
    source: 'export { createRuntime, defineTool, memoryStore } from "awaken";',
    ceiling: 86_200,
    ceilingInstalled: 86_200,
  },
];

interface BundleOptions {
  readonly hasZod: boolean;
  /** `iife`: one file for browsers, with whatever it may load later. `esm`: only what is loaded at once. Default `esm`. */
  readonly format?: "esm" | "iife";
  /** The folder that the source imports from. Default: this repository. */
  readonly root?: string;
  readonly platform?: "browser" | "node";
  /** Our packages as they are built instead of their sources. */
  readonly isBuilt?: boolean;
  /** Constants stay where they are defined, so that their modules are among those that are loaded. */
  readonly keepsConstants?: boolean;
}

function open(source: string, entry: string, options: BundleOptions) {
  const { hasZod, root = ROOT, platform = "browser", isBuilt = root !== ROOT, keepsConstants = false } = options;
  return rolldown({
    input: entry,
    cwd: root,
    platform,
    external: hasZod ? [] : [/^zod(\/|$)/],
    resolve: { conditionNames: [...(isBuilt ? [] : ["awaken-source"]), "browser", "import", "default"] },
    plugins: [{ name: "entry", load: (id) => (id === entry ? source : null), resolveId: (id) => (id === entry ? id : null) }],
    onLog() {},
    ...(keepsConstants ? { optimization: { inlineConst: false } } : undefined),
  });
}

/** Bundled and minified; in this repository from our sources, elsewhere from what is installed there. Whatever the host has to give shows up in `imports`. */
export async function bundle(source: string, options: BundleOptions): Promise<Bundle> {
  const { format = "esm", root = ROOT } = options;
  const entry = join(root, "core-bundle-entry.ts");
  const build = await open(source, entry, options);
  const settings = { format, name: "awakenBundle", minify: true, comments: false } as const;
  const generate = (codeSplitting: false | CodeSplittingOptions) => build.generate({ ...settings, codeSplitting });
  const { output } = await generate(format === "iife" ? false : joinCore(entry, (await generate({})).output));
  await build.close();
  const { code, imports, modulesAtOnce } = collectStatic(output);
  const modules = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  return { code, gzipBytes: gzipSync(code, { level: 9 }).length, imports, modules, modulesAtOnce };
}

/** What is loaded at once as one file beside the entry, as our packages are published: where a bundler would cut it is no size of ours. */
function joinCore(entry: string, output: RolldownOutput["output"]): CodeSplittingOptions {
  const core = new Set(collectStatic(output).modulesAtOnce);
  core.delete(entry);
  return { groups: [{ name: "core", test: (id) => core.has(id), includeDependenciesRecursively: false }] };
}

/** One file of a program as a bundler splits it. It tells `globalThis.loadedParts` its name when it is loaded. */
export interface ProgramPart {
  readonly fileName: string;
  readonly code: string;
  readonly modules: readonly string[];
}

/** The entry first. */
export async function bundleParts(source: string): Promise<readonly ProgramPart[]> {
  const entry = join(ROOT, "core-bundle-entry.ts");
  const build = await open(source, entry, { hasZod: true });
  const { output } = await build.generate({
    format: "esm",
    minify: true,
    comments: false,
    banner: ({ fileName }) => `(globalThis.loadedParts ??= []).push(${JSON.stringify(fileName)});`,
  });
  await build.close();
  return output.flatMap((file) => (file.type === "chunk" ? { fileName: file.fileName, code: file.code, modules: file.moduleIds } : []));
}

/** The entry with the chunks that it imports at once. */
function collectStatic([entry, ...others]: RolldownOutput["output"]): Pick<Bundle, "code" | "imports" | "modulesAtOnce"> {
  const chunks = new Map(others.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])));
  const codes = [entry.code];
  const modulesAtOnce = [...entry.moduleIds];
  const imports = new Set(entry.imports);
  for (const name of imports) {
    const chunk = chunks.get(name);
    if (chunk === undefined) continue;
    codes.push(chunk.code);
    modulesAtOnce.push(...chunk.moduleIds);
    for (const next of chunk.imports) imports.add(next);
  }
  return { code: codes.join("\n"), imports: [...imports].filter((name) => !chunks.has(name)), modulesAtOnce };
}

/** Uses of what only Node has; a word in a message is none. */
export function findNodeGlobals(code: string): readonly string[] {
  const uses = code.matchAll(/(?<![\w$.'"-])(?:process|Buffer|__dirname|__filename|setImmediate|require)(?:\??\.[\w$[]|\[|\()/g);
  return [...new Set([...uses].map(([use]) => use))];
}

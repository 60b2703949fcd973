import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { AwakenError, errorMessage } from "@awaken/contract";
import { CliError } from "./cli-error.ts";

export const CONFIG_FILES = ["awaken.config.ts", "awaken.config.js", "awaken.config.mjs"] as const;

export interface ConfigPlace {
  /** The file that was asked for with `--config`. */
  readonly config?: string;
  readonly cwd: string;
}

/** The config file that is asked for, else the nearest one from the folder upward. */
export function findConfig({ config, cwd }: ConfigPlace): string {
  if (config !== undefined) {
    const file = resolve(cwd, config);
    if (existsSync(file) && statSync(file).isFile()) return file;
    throw new CliError("config_validation_failed", `there is no config file ${config}`, "give the path of an awaken.config.ts to --config");
  }
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const found = CONFIG_FILES.map((name) => join(folder, name)).find((file) => existsSync(file));
    if (found !== undefined) return found;
    if (dirname(folder) === folder) break;
  }
  throw new CliError(
    "config_validation_failed",
    `there is no awaken.config.ts in ${cwd} or above it`,
    "`awaken init` writes one; --config names another file",
  );
}

const codeOf = (thrown: unknown): unknown => (thrown instanceof Error && "code" in thrown ? thrown.code : undefined);

const shown = (path: string, root: string): string => {
  const inside = relative(root, path);
  return inside === "" || inside.startsWith("..") ? path : inside;
};

function missingModule(message: string, file: string): CliError {
  const root = dirname(file);
  const [, kind = "", wanted = "", importer = file] = /^Cannot find (package|module) '([^']+)' imported from (.+)$/.exec(message) ?? [];
  const from = shown(importer, root);
  if (kind === "package") {
    const name = /^(?:@[^/]+\/)?[^/]+/.exec(wanted)?.[0] ?? wanted;
    return new CliError("config_validation_failed", `${from} imports the package '${name}', which is not installed`, `npm install ${name}`);
  }
  return new CliError("config_validation_failed", wanted === "" ? message : `${from} imports ${shown(wanted, root)}, which does not exist`);
}

/** Where a file of the project did it: from the head of a syntax error, or from the stack. */
function placeOf(thrown: unknown, file: string): string {
  const root = dirname(file);
  const stack = thrown instanceof Error ? (thrown.stack ?? "") : "";
  const head = /^(file:\/\/\S+|\/\S+|[A-Za-z]:\\\S+):(\d+)\n/.exec(stack);
  const frames = [...stack.matchAll(/(file:\/\/[^\s)]+?):(\d+):\d+/g)];
  for (const [, path = "", line = ""] of head === null ? frames : [head]) {
    const inside = shown(path.startsWith("file:") ? fileURLToPath(path) : path, root);
    if (!inside.startsWith("..") && !inside.includes("node_modules") && inside !== path) return `${inside}:${line}`;
  }
  return basename(file);
}

const ERASABLE = "Node takes the types away and runs the rest: use plain objects and functions instead of enums and namespaces";

/** Whatever loading the file threw, in one line that names the file and the line in it. */
export function configFailure(thrown: unknown, file: string): CliError {
  if (thrown instanceof CliError) return thrown;
  const code = codeOf(thrown);
  const message = errorMessage(thrown);
  const init = { cause: thrown };
  if (AwakenError.is(thrown)) {
    const missing = thrown.details?.["npmPackage"];
    if (typeof missing !== "string") return new CliError(thrown.code, `${basename(file)}: ${message}`, undefined, init);
    const fix = `npm install ${missing}`;
    return new CliError(thrown.code, `${basename(file)}: ${message.replace(`: ${fix}`, "")}`, fix, init);
  }
  if (code === "ERR_MODULE_NOT_FOUND") return missingModule(message, file);
  const place = placeOf(thrown, file);
  if (thrown instanceof SyntaxError) {
    const fix = code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX" ? ERASABLE : undefined;
    return new CliError("config_validation_failed", `${place} cannot be read: ${message}`, fix, init);
  }
  return new CliError("config_validation_failed", `${place} failed: ${message}`, undefined, init);
}

/** The default export, or what it gives when it is a function or a promise. */
export async function importConfig(file: string): Promise<unknown> {
  let found: unknown;
  try {
    const module: object = await import(pathToFileURL(file).href);
    found = "default" in module ? module.default : undefined;
    found = await (typeof found === "function" ? found() : found);
  } catch (thrown) {
    throw configFailure(thrown, file);
  }
  if (found !== undefined) return found;
  throw new CliError("config_validation_failed", `${basename(file)} has no default export`, "write `export default defineConfig({ … })`");
}

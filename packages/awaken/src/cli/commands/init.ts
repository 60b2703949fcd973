import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { errorMessage } from "@awaken/contract";
import { CliError } from "../cli-error.ts";
import { quoted } from "../command-name.ts";
import { EXIT } from "../exit-codes.ts";
import { type ProjectFile, projectFiles } from "../init/project-files.ts";
import { Output } from "../output.ts";
import type { Shell } from "../shell.ts";
import { checkout, ownVersion } from "../version.ts";

export interface InitOptions {
  readonly force?: boolean;
}

/** A name that npm takes. */
const packageName = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, "-")
    .replace(/^[._-]+|-+$/g, "") || "awaken-project";

function refuseOverwrite(folder: string, files: readonly ProjectFile[]): void {
  const there = files.map(({ name }) => name).filter((name) => existsSync(join(folder, name)));
  if (there.length === 0) return;
  throw new CliError(
    "storage_already_exists",
    `these files are there already: ${there.join(", ")}`,
    "choose another folder, or overwrite them with --force",
  );
}

function write(folder: string, files: readonly ProjectFile[]): void {
  try {
    mkdirSync(folder, { recursive: true });
    for (const { name, text } of files) writeFileSync(join(folder, name), text);
  } catch (cause) {
    throw new CliError("storage_io", `the project cannot be written: ${errorMessage(cause)}`, "check the rights of the folder", { cause });
  }
}

/** Writes a project that runs as it is. */
export async function init(shell: Shell, dir: string, { force = false }: InitOptions): Promise<number> {
  const folder = resolve(shell.cwd, dir);
  if (existsSync(folder) && !statSync(folder).isDirectory())
    throw new CliError("storage_already_exists", `${dir} is a file`, "name a folder");
  const files = projectFiles(packageName(folder), { version: ownVersion(), checkout: checkout() });
  if (!force) refuseOverwrite(folder, files);
  write(folder, files);
  const out = new Output(shell);
  for (const { name } of files) out.line(`  ${name}`);
  const place = relative(shell.cwd, folder);
  out.line();
  out.line("Next:", "bold");
  if (place !== "") out.line(`  cd ${quoted(place)}`);
  out.line("  npm install");
  out.line("  npx awaken chat");
  out.line('  npx awaken run "weather in Oslo"');
  out.line("  npx awaken dev");
  out.line("  npx awaken serve");
  return EXIT.ok;
}

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface Finding {
  /** Path from the root, with forward slashes. */
  readonly file: string;
  readonly message: string;
}

const SKIPPED = new Set(["node_modules", "dist", "coverage"]);
const SOURCE = /\.[cm]?[jt]sx?$/;

export const isTest = (file: string): boolean => /\.test(?:-d|-support)?\.[cm]?[jt]sx?$/.test(file);

export function listFolders(root: string, parent: string): string[] {
  const path = join(root, parent);
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && !SKIPPED.has(entry.name));
  return folders.map((entry) => `${parent}/${entry.name}`).sort();
}

/** Source files below one folder, as sorted paths from the root. A folder that does not exist has none. */
export function listSources(root: string, folder: string): string[] {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  const own = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isFile() && SOURCE.test(entry.name));
  return [
    ...own.map((entry) => `${folder}/${entry.name}`).sort(),
    ...listFolders(root, folder).flatMap((child) => listSources(root, child)),
  ];
}

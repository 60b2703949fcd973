import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** Writes files into a fresh folder that is removed after the test. */
export function writeTree(files: Readonly<Record<string, string>>): string {
  const root = writeLastingTree(files);
  onTestFinished(() => removeTree(root));
  return root;
}

export const removeTree = (root: string): void => rmSync(root, { recursive: true });

/** The same, for several tests: whoever made it removes it. */
export function writeLastingTree(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "awaken-scripts-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Runs one of these scripts as `npm run check:*` does. */
export function runScript(name: string, ...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, name), ...args], { encoding: "utf8" });
  return { status, output: stdout + stderr };
}

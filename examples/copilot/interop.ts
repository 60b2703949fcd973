// `npm run interop`: installs CopilotKit beside this file, and plays the page in a browser against a server that is one.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = import.meta.dirname;
const TSC = join(FOLDER, "../../node_modules/typescript/bin/tsc");

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { cwd: FOLDER, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}`);
}

/** Once for each lockfile; no script of theirs is run. */
function install(): void {
  const lock = readFileSync(join(FOLDER, "package-lock.json"), "utf8");
  const receipt = join(FOLDER, "node_modules/installed-lock.json");
  if (existsSync(receipt) && readFileSync(receipt, "utf8") === lock) return;
  console.log("CopilotKit is being installed: 1,150 packages, a few minutes");
  run("npm", ["ci"]);
  writeFileSync(receipt, lock);
}

install();
run(process.execPath, [TSC, "--noEmit", "-p", "tsconfig.json"]);
const { play } = await import("./play.ts");
await play();

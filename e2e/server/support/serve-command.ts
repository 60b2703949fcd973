import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerProcess } from "./process.ts";

/** In few files, when the run of the tests has made them of our sources: most of what a process costs is to load a file for each module. */
const MADE = process.env["AWAKEN_TEST_PROGRAMS"];
const PACKAGE = join(MADE ?? join(import.meta.dirname, "../../.."), "packages/awaken");
const MAIN = join(PACKAGE, MADE === undefined ? "src/cli/main.ts" : "src/cli/main.js");

/** Makes a project of the folder. */
export function writeProject(folder: string, config: string): void {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(PACKAGE, join(folder, "node_modules/awaken"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "awaken.config.ts"), config);
}

/** `awaken serve` as a process, on the project of this folder. */
export async function startServe(cwd: string, ...more: readonly string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, ["--conditions=awaken-source", MAIN, "serve", ...more], {
    cwd,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exit = once(child, "exit");
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      const found = /(http:\/\/\S+) serves/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", () => reject(new Error(`the server ended: ${said}`)));
  });
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exit;
    return child.exitCode;
  };
  const kill = async () => void (await end("SIGKILL"));
  return { url, port: Number(new URL(url).port), kill, terminate: () => end("SIGTERM"), [Symbol.asyncDispose]: kill };
}

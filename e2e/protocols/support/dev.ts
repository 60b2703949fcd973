import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { tempFolder } from "../../durability/support/databases.ts";

/** In few files, when the run of the tests has made them of our sources: most of what a process costs is to load a file for each module. */
const MADE = process.env["AWAKEN_TEST_PROGRAMS"];
const PACKAGE = join(MADE ?? join(import.meta.dirname, "../../.."), "packages/awaken");
const MAIN = join(PACKAGE, MADE === undefined ? "src/cli/main.ts" : "src/cli/main.js");

/** `awaken dev` as a process, on a project that can be changed. */
export interface Dev extends AsyncDisposable {
  readonly url: string;
  write(file: string, text: string): void;
}

export async function startDev(config: string): Promise<Dev> {
  const folder = tempFolder();
  const write = (file: string, text: string) => writeFileSync(join(folder.path, file), text);
  mkdirSync(join(folder.path, "node_modules"));
  symlinkSync(PACKAGE, join(folder.path, "node_modules/awaken"));
  write("package.json", '{ "type": "module" }');
  write("awaken.config.ts", config);
  const child = spawn(process.execPath, ["--conditions=awaken-source", MAIN, "dev", "--port", "0"], { cwd: folder.path });
  let said = "";
  for (const output of [child.stdout, child.stderr]) {
    output.on("data", (chunk) => {
      said += String(chunk);
    });
  }
  const ended = once(child, "exit");
  await expect.poll(() => said, { timeout: 240_000 }).toContain("OpenAPI");
  return {
    url: /http:\/\/localhost:\d+/.exec(said)?.[0] ?? expect.fail(said),
    write,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      folder[Symbol.dispose]();
    },
  };
}

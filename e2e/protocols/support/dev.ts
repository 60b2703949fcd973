import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { tempFolder } from "../../durability/support/databases.ts";

/** In few files, when the run of the tests has made them of our sources: most of what a process costs is to load a file for each module. */
const MADE = process.env["AWAKEN_TEST_PROGRAMS"];
const ROOT = join(import.meta.dirname, "../../..");
const PACKAGE = join(MADE ?? ROOT, "packages/awaken");
const MAIN = join(PACKAGE, MADE === undefined ? "src/cli/main.ts" : "src/cli/main.js");

/** `awaken dev` as a process, on a project that can be changed. */
export interface Dev extends AsyncDisposable {
  readonly url: string;
  write(file: string, text: string): void;
}

/** With this config, or with what `awaken init` writes. */
export async function startDev(config?: string): Promise<Dev> {
  const folder = tempFolder();
  const cwd = folder.path;
  const command = (name: string): readonly string[] => ["--conditions=awaken-source", MAIN, name];
  const write = (file: string, text: string) => writeFileSync(join(cwd, file), text);
  if (config === undefined) expect(spawnSync(process.execPath, command("init"), { cwd })).toMatchObject({ status: 0 });
  else {
    write("package.json", '{ "type": "module" }');
    write("awaken.config.ts", config);
  }
  mkdirSync(join(cwd, "node_modules"));
  symlinkSync(PACKAGE, join(cwd, "node_modules/awaken"));
  symlinkSync(join(ROOT, "node_modules/zod"), join(cwd, "node_modules/zod"));
  const child = spawn(process.execPath, [...command("dev"), "--port", "0"], { cwd });
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

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const bin = join(import.meta.dirname, "../../bin/awaken.js");
const config = join(import.meta.dirname, "../../../../examples/chat/awaken.config.ts");

describe("the command of a checkout", () => {
  it("runs the sources, with what it is given and with their exit code", () => {
    const help = spawnSync(process.execPath, [bin, "run", "--help"], { encoding: "utf8" });
    expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining("run an agent once") });
    const unknown = spawnSync(process.execPath, [bin, "nope"], { encoding: "utf8" });
    expect(unknown).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("unknown command 'nope'") });
  });

  it("hands a signal on and leaves as the sources do", async () => {
    const folder = mkdtempSync(join(tmpdir(), "awaken-bin-"));
    const args = [bin, "chat", "--config", config, "--store", join(folder, "a.db")];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "inherit", "pipe"] });
    const left = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
    await new Promise<void>((resolve) => child.stderr.once("data", () => resolve()));
    child.kill("SIGTERM");
    expect(["SIGTERM", 143]).toContain(await left);
    rmSync(folder, { recursive: true });
  });
});

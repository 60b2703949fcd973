import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "awaken-crash-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(...args: readonly string[]) {
  const program = ["--conditions=awaken-source", join(import.meta.dirname, "main.ts"), ...args];
  const { stdout, stderr, signal } = spawnSync(process.execPath, program, { cwd: folder, encoding: "utf8" });
  return { stdout, stderr, signal };
}

describe("a crash between an effect and its record", () => {
  it("is told apart from a call that never happened: the card is charged once", () => {
    const charged = "Paid. [ { cents: 1200, receipt: 'receipt-1' } ]\n";
    expect(start("die")).toEqual({ stdout: "", stderr: "", signal: "SIGKILL" });
    expect(start()).toEqual({ stdout: `went on: ${charged}`, stderr: "", signal: null });
  });
});

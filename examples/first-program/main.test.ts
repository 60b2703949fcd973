import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

describe("the first program", () => {
  it("plays as npm start shows it", () => {
    const main = join(import.meta.dirname, "main.ts");
    const { stdout, stderr, status } = spawnSync(process.execPath, ["--conditions=awaken-source", main], {
      encoding: "utf8",
      timeout: 30_000,
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toContain("Oslo has 21 degrees, Rome has 27.");
    expect(stdout).toContain('[waiting: Refund 120? {"orderId":"7","amount":120}]');
    expect(stdout).toContain("Done: 90 are on their way.");
  });
});

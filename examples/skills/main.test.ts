import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the example with a skill plays", () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--conditions=awaken-source", main], {
    encoding: "utf8",
    timeout: 30_000,
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(stdout).toContain("skill: Launching skill: weekly-report");
  expect(stdout).toContain("load_skill_resource: Short sentences. One heading.");
  expect(stdout).toContain('"stdout":"7 changes\\n"');
  expect(stdout).toContain("# Search, this week");
});

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the example with MCP servers plays", () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--conditions=awaken-source", main], {
    encoding: "utf8",
    timeout: 300_000,
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(stdout).toMatch(/files: connected, \d+ tools\nmemory: connected, \d+ tools/);
  expect(stdout).toContain("mcp__files__read_text_file: succeeded\nmcp__memory__create_entities: succeeded");
  expect(stdout).toContain("I read the notes and remember that Ana likes tea.");
});

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

it("team: three researchers in the background, one approval inside a child, one answer", () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout, stderr } = spawnSync(process.execPath, ["--conditions=awaken-source", main], { encoding: "utf8", timeout: 300_000 });
  expect({ stdout, stderr }).toEqual({
    stdout: ["> What is new?", "  lead > researcher: Publish rumours?", "All three are published. [done]", ""].join("\n"),
    stderr: "",
  });
});

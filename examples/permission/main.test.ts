import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

it("permission: listing is allowed, deleting denied, npm asked about once", () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout, stderr } = spawnSync(process.execPath, ["--conditions=awaken-source", main], { encoding: "utf8", timeout: 300_000 });
  expect({ stdout, stderr }).toEqual({
    stdout: [
      "offered: bash; hidden: format_disk",
      "> Build it",
      "  $ ls src",
      `  Permission required for tool 'bash': {"command":"npm test"}`,
      "  $ npm test",
      "  $ npm run build",
      "Built; src is still there. [done]",
      "",
    ].join("\n"),
    stderr: "",
  });
});

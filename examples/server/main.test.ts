import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

it("server: two tenants, a stream, and an approval that outlives the server", () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout, stderr } = spawnSync(process.execPath, ["--conditions=awaken-source", main], { encoding: "utf8", timeout: 300_000 });
  expect({ stdout, stderr }).toEqual({
    stdout: [
      "> I want my money back.",
      "  waits: Refund 120?",
      "acme has 1 thread, globex 0",
      "the server was stopped and started again",
      "  refund: 90 is refunded",
      "It is on its way. [done]",
      "",
    ].join("\n"),
    stderr: "",
  });
});

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("remote-agent: a delegate that runs elsewhere is asked over A2A, and nothing of it is left", () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--conditions=awaken-source", main], {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect({ stdout, stderr, status }).toEqual({
    stdout: ["lead > legal is asked", "lead > legal: done", 'Legal says: "May we sign this?" Yes, if both sign.', ""].join("\n"),
    stderr: "",
    status: 0,
  });
});

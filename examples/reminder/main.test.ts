import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

it("reminder: told after results that match, and not again while it cools down", () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout, stderr } = spawnSync(process.execPath, ["--conditions=awaken-source", main], { encoding: "utf8", timeout: 300_000 });
  expect({ stdout, stderr }).toEqual({
    stdout: [
      "request 1: no reminder",
      "request 2: Run the tests before you say that you are done.",
      "request 3: no reminder",
      "request 4: Do not try again with other rights: say what is missing.",
      "",
    ].join("\n"),
    stderr: "",
  });
});

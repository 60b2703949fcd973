import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runChild } from "./support/child.ts";
import { tempFolder } from "./support/databases.ts";
import { appendLine, Outside, readLines } from "./support/outside.ts";

// What the tests of this folder stand on: a judge that breaks must be a failure, never a child that waits for ever.

const ASKS = `
process.on("message", () => process.exit(0));
process.on("disconnect", () => process.exit(1));
process.send({ question: 1 });
`;

function asking(folder: string): { readonly file: string; readonly order: object } {
  const file = join(folder, "asks.mjs");
  writeFileSync(file, ASKS);
  return { file, order: {} };
}

test("a child is answered, and ends", async () => {
  using folder = tempFolder();
  expect(await runChild({ ...asking(folder.path), onMessage: () => ({ answer: 1 }) })).toEqual({ type: "exit" });
});

test.each([
  [
    "throws",
    () => {
      throw new Error("no judge");
    },
  ],
  ["rejects", () => Promise.reject(new Error("no judge"))],
])("whoever is asked and %s fails the test at once, and the child is gone", async (_, onMessage) => {
  using folder = tempFolder();
  await expect(runChild({ ...asking(folder.path), onMessage })).rejects.toThrow("no judge");
});

test("a line that is still being written has not happened yet, wherever it is cut", () => {
  using folder = tempFolder();
  const path = join(folder.path, "effects.jsonl");
  writeFileSync(path, "");
  const outside = new Outside(path);
  const first = outside.happen("o1", "k1");
  const line = `${JSON.stringify({ order: "o2", key: "k2", receipt: "é" })}\n`;
  for (const byte of Buffer.from(line)) {
    expect(outside.effects()).toEqual([first]);
    appendFileSync(path, Buffer.of(byte));
  }
  expect(outside.effects()).toEqual([first, { order: "o2", key: "k2", receipt: "é" }]);
  appendLine(path, { order: "o3" });
  expect(readLines(path)).toHaveLength(3);
});

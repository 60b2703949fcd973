import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { thisNode } from "./this-node.ts";

test("a name tells whether its process is gone, for processes of the same machine alone", async () => {
  const [one, two] = [thisNode(), thisNode()];
  expect(one.name).not.toBe(two.name);
  expect(two.isGone(one.name)).toBe(false);
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const part = (index: number, value: string) => one.name.split("/").with(index, value).join("/");
  const gone = part(4, String(child.pid));
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(two.isGone(gone)).toBe(true);
  // Another machine, another start of it, a process whose number was used again, and names of others.
  expect(two.isGone(part(1, "elsewhere"))).toBe(false);
  expect(two.isGone(gone.replace(gone.split("/")[2] ?? "", "another-boot"))).toBe(false);
  expect(two.isGone("runtime:1")).toBe(false);
  expect(two.isGone(part(4, "-1"))).toBe(false);
});

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { cli, Folders, writeFiles } from "./test-cli.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

/** Answers with what the environment holds. */
const CONFIG = `
const provider = {
  name: "env",
  async *stream() {
    yield { type: "text-delta", delta: [process.env.FIRST, process.env.SECOND, process.env.THIRD].join(" ") };
    yield { type: "stop", reason: "end-turn" };
  },
};
if (process.env.FAIL_KEY) throw new Error("no " + process.env.FAIL_KEY);
export default { providers: { p: provider }, models: { m: { provider: "p", model: "x" } }, agents: { a: { model: "m" } } };
`;

test(".env beside the config is loaded, then that of the folder; what the environment has wins", async () => {
  const root = folders.project({
    "awaken.config.ts": CONFIG,
    ".env": 'FIRST=file\nSECOND="from the file"\n',
    "deep/.env": "SECOND=no\nTHIRD=deep\n",
  });
  const { code, stdout, stderr } = await cli(["run", "hi"], { cwd: join(root, "deep"), env: { FIRST: "shell" } });
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: "shell from the file deep\n" });
  const named = await cli(["run", "hi", "--config", join(root, "awaken.config.ts")], { cwd: folders.empty() });
  expect(named.stdout).toBe("file from the file \n");
});

test("it names the store too, and its secrets are masked", async () => {
  const cwd = folders.project({ "awaken.config.ts": CONFIG, ".env": "AWAKEN_STORE=other.db\n" });
  await cli(["run", "hi", "--thread", "t1"], { cwd });
  expect((await cli(["threads"], { cwd: folders.project({ ".env": `AWAKEN_STORE=${join(cwd, "other.db")}\n` }) })).stdout).toContain("t1");
  writeFiles(cwd, { ".env": "FAIL_KEY=sk-0123456789\n" });
  expect((await cli(["run", "hi"], { cwd })).stderr).toMatch(/failed: no \*\*\*$/m);
});

test("one that cannot be read is one line, and what needs no project does not ask for it", async () => {
  const cwd = folders.empty();
  mkdirSync(join(cwd, ".env"));
  const { code, stderr } = await cli(["threads"], { cwd });
  expect({ code, lines: stderr.trimEnd().split("\n").length }).toEqual({ code: 2, lines: 2 });
  expect(stderr).toContain("/.env cannot be read");
  expect((await cli(["--version"], { cwd })).code).toBe(0);
});

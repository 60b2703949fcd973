import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { cli, Folders } from "./test-cli.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

async function lockedBy(file: string, sql: string): Promise<AsyncDisposable> {
  const script = `import { DatabaseSync } from "node:sqlite";
    const db = new DatabaseSync(process.argv[1]);
    db.exec(process.argv[2]);
    process.send("locked");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, file, sql], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await once(child, "message");
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
    },
  };
}

const REFUSAL = /^error: SQLite database '.*awaken\.db': another process has locked the database\nfix: another program writes to it.*\n$/;

test("a database that another process has locked is one line and exit code 2, and nothing is run", async () => {
  const cwd = folders.project();
  await cli(["run", "hi", "--agent", "assistant"], { cwd });
  await using _ = await lockedBy(join(cwd, "awaken.db"), "BEGIN IMMEDIATE");
  const [run, chat, threads] = await Promise.all([
    cli(["run", "hello", "--agent", "assistant"], { cwd }),
    cli(["chat"], { cwd, input: "hello\n" }),
    cli(["threads", "--json"], { cwd }),
  ]);
  for (const { code, stdout, stderr } of [run, chat]) {
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(REFUSAL);
  }
  expect(threads.code).toBe(0);
  expect(threads.stdout.trim().split("\n")).toHaveLength(1);
});

test("a database that another process has for itself is one line and exit code 2 for commands that only read, too", async () => {
  const cwd = folders.project();
  await cli(["run", "hi", "--agent", "assistant"], { cwd });
  await using _ = await lockedBy(join(cwd, "awaken.db"), "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  const { code, stdout, stderr } = await cli(["threads"], { cwd });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(REFUSAL);
});

test("threads, runs, show and events work where nothing can be written, and leave it as it is; run says what is wrong", async () => {
  const cwd = folders.project();
  await cli(["run", "hi", "--agent", "assistant", "--thread", "t1"], { cwd });
  // The log of the database cannot be made here, whoever runs the tests: even root.
  mkdirSync(join(cwd, "awaken.db-wal"));
  const before = readdirSync(cwd);
  const seen = [
    [["threads"], "t1"],
    [["runs"], "t1"],
    [["show", "t1"], "you said: hi"],
    [["events", "t1"], "run-finished"],
  ] as const;
  for (const [args, text] of seen) {
    const { code, stdout, stderr } = await cli(args, { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(text);
  }
  const { code, stderr } = await cli(["run", "hello", "--agent", "assistant"], { cwd });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: SQLite database '.*awaken\.db': the file cannot be opened\nfix: check that the file and its folder/);
  expect(readdirSync(cwd)).toEqual(before);
});

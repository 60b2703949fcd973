import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "@awaken/stores/sqlite";
import { text, toolCall } from "awaken/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { open, slow, T } from "./support/open.ts";

const FOR_LONG = { timeout: 120_000, interval: 10 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "awaken-newer-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Gives the version that was there. */
function setVersion(file: string, version: number): number {
  const db = new DatabaseSync(file);
  try {
    const before = Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
    db.exec(`PRAGMA user_version = ${version}`);
    return before;
  } finally {
    db.close();
  }
}

test("a run whose store is migrated by a newer program is no dead letter: a process that knows the tables goes on with it", async () => {
  const file = join(folder, "a.db");
  const last = slow();
  const store = sqliteStore(file);
  const older = open(store, [toolCall("slow", {}), text("too late")], { tools: [last.tool], workers: true });
  const { runId } = await older.start({ thread: T, input: "go" });
  await last.began;
  // The worker may have the file locked just now.
  const known = await vi.waitFor(() => setVersion(file, 99), FOR_LONG);
  last.release();
  const tooNew = { code: "storage_too_new" };
  await vi.waitFor(() => expect(store.runs.load(runId)).rejects.toMatchObject(tooNew), FOR_LONG);
  await older.close();
  await store.close();

  setVersion(file, known);
  // A minute later: the lease of the older one is over.
  await using later = sqliteStore(file, { clock: () => Date.now() + 60_000 });
  await using newer = open(later, [text("done")], { tools: [last.tool], workers: true });
  await newer.recover();
  expect(await newer.wait(runId)).toMatchObject({ status: "done", text: "done" });
  expect((await newer.deadLetters.list()).items).toEqual([]);
});

test("whoever waits for a run of his own is told which program goes on with it, and one that is as new does", async () => {
  const file = join(folder, "a.db");
  const last = slow();
  const store = sqliteStore(file);
  const older = open(store, [toolCall("slow", {}), text("too late")], { tools: [last.tool], workers: true });
  const run = older.stream({ thread: T, input: "go" });
  await last.began;
  const known = await vi.waitFor(() => setVersion(file, 99), FOR_LONG);
  last.release();
  expect(await run.result).toMatchObject({
    status: "failed",
    error: {
      code: "storage_too_new",
      message: expect.stringContaining(`a process whose program is as new as the store goes on with run '${run.id}'`),
    },
  });
  await older.close();
  await store.close();

  setVersion(file, known);
  await using later = sqliteStore(file, { clock: () => Date.now() + 60_000 });
  await using newer = open(later, [text("done")], { tools: [last.tool], workers: true });
  await newer.recover();
  expect(await newer.wait(run.id)).toMatchObject({ status: "done", text: "done" });
});

import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { type ErrorCode, scopeId, threadId } from "@awaken/contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MIGRATIONS } from "./migrations.ts";
import { sqliteStore } from "./store.ts";
import { tempFolder } from "./test-store.ts";

let folder: ReturnType<typeof tempFolder>;
let file: string;
beforeEach(() => {
  folder = tempFolder();
  file = join(folder.path, "a.db");
});
afterEach(() => folder.remove());

const T1 = threadId("t1");
const failing = (code: ErrorCode) => expect.objectContaining({ code });

function withDatabase(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

describe("opening a file", () => {
  test("makes it, and what was written is there when it is opened again", async () => {
    const first = sqliteStore(file);
    await first.threads.create({ id: T1, title: "hello" });
    await first.close();
    await using again = sqliteStore(file);
    expect(await again.threads.load(T1)).toMatchObject({ metadata: { title: "hello" } });
  });

  test("stores of one file in one process share it, until the last one closes", async () => {
    const [first, second] = [sqliteStore(file), sqliteStore(join(folder.path, ".", "a.db"))];
    await first.threads.create({ id: T1 });
    expect(await second.threads.load(T1)).toBeDefined();
    await first.close();
    await expect(first.threads.load(T1)).rejects.toEqual(failing("storage_io"));
    expect(await second.threads.load(T1)).toBeDefined();
    await second.close();
    await expect(second.threads.load(T1)).rejects.toEqual(failing("storage_io"));
  });

  test("with other settings than it is open with already is refused", async () => {
    await using _ = sqliteStore(file);
    expect(() => sqliteStore(file, { synchronous: "normal" })).toThrow(failing("storage_validation"));
  });

  test("databases in memory are apart", async () => {
    await using first = sqliteStore(":memory:");
    await using second = sqliteStore(":memory:");
    await first.threads.create({ id: T1 });
    expect(await second.threads.count({})).toBe(0);
  });
});

describe("a file that cannot be used", () => {
  test("of a newer version is storage_too_new, and stays as it is", async () => {
    await sqliteStore(file).close();
    withDatabase(file, "PRAGMA user_version = 99");
    expect(() => sqliteStore(file)).toThrow(failing("storage_too_new"));
    withDatabase(file, `PRAGMA user_version = ${MIGRATIONS.length}`);
    await sqliteStore(file).close();
  });

  test("of another program, or no database at all, is storage_corrupt", () => {
    withDatabase(file, "CREATE TABLE customer (id INTEGER PRIMARY KEY)");
    expect(() => sqliteStore(file)).toThrow(failing("storage_corrupt"));
    const text = join(folder.path, "text.db");
    writeFileSync(text, "This is a letter, not a database. ".repeat(200));
    expect(() => sqliteStore(text)).toThrow(failing("storage_corrupt"));
  });

  test("in a folder that does not exist, or that is a folder, is storage_io and names the path", () => {
    const nowhere = join(folder.path, "no", "a.db");
    expect(() => sqliteStore(nowhere)).toThrow(expect.objectContaining({ code: "storage_io", message: expect.stringContaining(nowhere) }));
    mkdirSync(file);
    expect(() => sqliteStore(file)).toThrow(failing("storage_io"));
  });

  test("that another one is just making waits for it", async () => {
    const maker = new Worker(
      `const { DatabaseSync } = require("node:sqlite");
       const { parentPort, workerData } = require("node:worker_threads");
       const db = new DatabaseSync(workerData);
       db.exec("BEGIN IMMEDIATE");
       parentPort.postMessage("locked");
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
       db.exec("COMMIT");
       db.close();`,
      { eval: true, workerData: file },
    );
    await once(maker, "message");
    const store = sqliteStore(file);
    expect(await store.threads.create({ id: T1 })).toMatchObject({ id: T1 });
    await store.close();
    await maker.terminate();
  });
});

describe("hostile strings", () => {
  const hostile = ["%", "_", "'", '"', "\\", "a'; DROP TABLE thread; --", "\u{1f600}".repeat(120), "é".repeat(256)];

  test("a scope is a parameter, never a pattern", async () => {
    await using store = sqliteStore(":memory:");
    const tenants = hostile.map((name) => store.scoped(scopeId(name)));
    for (const [index, tenant] of tenants.entries()) await tenant.threads.create({ id: T1, title: String(index) });
    for (const [index, tenant] of tenants.entries()) {
      expect(await tenant.threads.count({})).toBe(1);
      expect((await tenant.threads.load(T1))?.metadata.title).toBe(String(index));
    }
    expect(await store.threads.count({})).toBe(0);
  });

  test("a scope with NUL, of 10 KB, or blank is refused before anything is read", async () => {
    await using store = sqliteStore(":memory:");
    for (const bad of ["a\0b", "x".repeat(10_240), " ", "", "\u009f"]) {
      const unchecked: ReturnType<typeof scopeId> = JSON.parse(JSON.stringify(bad));
      expect(() => store.scoped(unchecked)).toThrow(failing("invalid_id"));
    }
  });

  test("ids may be anything; half a surrogate pair would not come back and is refused", async () => {
    await using store = sqliteStore(":memory:");
    for (const id of [...hostile, "a\0b", "x".repeat(10_240)]) {
      await store.threads.create({ id: threadId(id) });
      expect((await store.threads.load(threadId(id)))?.id).toBe(id);
    }
    await expect(store.threads.create({ id: threadId("\ud800") })).rejects.toEqual(failing("storage_validation"));
    await expect(store.threads.load(threadId("\udfff"))).rejects.toEqual(failing("storage_validation"));
  });
});

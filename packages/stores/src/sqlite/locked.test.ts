import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { threadId } from "@awaken/contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Database, type Tx } from "./database.ts";
import { Writer } from "./session.ts";
import { sqliteStore } from "./store.ts";
import { tempFolder } from "./test-store.ts";

const T1 = threadId("t1");
const T2 = threadId("t2");
const LONG = { busyTimeoutMs: 45_000 };

let folder: ReturnType<typeof tempFolder>;
let file: string;
let locker: ChildProcess | undefined;
beforeEach(() => {
  folder = tempFolder();
  file = join(folder.path, "a.db");
});
afterEach(() => {
  locker?.kill();
  folder.remove();
});

/** Another process that has the file locked until it is told to let go. */
async function lockBy(sql: string): Promise<{ release(): Promise<void> }> {
  const script = `import { DatabaseSync } from "node:sqlite";
    const db = new DatabaseSync(process.argv[1]);
    db.exec(process.argv[2]);
    process.on("message", () => { db.close(); process.exit(); });
    process.send("locked");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, file, sql], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  locker = child;
  await once(child, "message");
  return {
    async release() {
      const gone = once(child, "exit");
      child.send("go");
      await gone;
    },
  };
}

const WRITES = "BEGIN IMMEDIATE";
const ALL_OF_IT = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE";

/** The event loop goes round many times while `work` waits: a thread that sleeps would wake up to its failure. */
async function turnsDuring(work: Promise<unknown>): Promise<string> {
  let state = "waits";
  work.then(
    () => {
      state = "done";
    },
    () => {
      state = "failed";
    },
  );
  for (let turns = 0; turns < 500; turns++) await turn();
  return state;
}

describe("a file that another process has locked", () => {
  test("holds up writes and transactions and nothing else: the event loop turns, reads are answered, and then they are done", async () => {
    await using store = sqliteStore(file, LONG);
    await store.threads.create({ id: T1 });
    const { release } = await lockBy(WRITES);
    const writes = Promise.all([
      store.threads.create({ id: T2 }),
      store.transaction((ports) => ports.threads.create({ id: threadId("t3") })),
    ]);
    expect(await turnsDuring(writes)).toBe("waits");
    expect(await store.threads.load(T1)).toMatchObject({ id: T1 });
    await release();
    await writes;
    expect(await store.threads.count({})).toBe(3);
  });

  test("is opened when it can be: the store is there at once, and what it is asked waits", async () => {
    await sqliteStore(file).close();
    const { release } = await lockBy(ALL_OF_IT);
    await using store = sqliteStore(file, LONG);
    await using same = sqliteStore(file, LONG);
    const created = store.threads.create({ id: T1 });
    expect(await turnsDuring(created)).toBe("waits");
    await release();
    await created;
    expect(await same.threads.load(T1)).toMatchObject({ id: T1 });
  });

  test("is storage_io that says so when the limit is over, and each call after it may try again", async () => {
    await sqliteStore(file).close();
    const { release } = await lockBy(ALL_OF_IT);
    await using store = sqliteStore(file, { busyTimeoutMs: 20 });
    const refusal = { code: "storage_io", message: `SQLite database '${file}': another process has locked the database` };
    await expect(store.threads.count({})).rejects.toMatchObject(refusal);
    await expect(store.threads.create({ id: T1 })).rejects.toMatchObject(refusal);
    await release();
    await store.threads.create({ id: T1 });
    expect(await store.threads.count({})).toBe(1);
  });

  test("a store that is closed while it waits to be opened ends with it", async () => {
    await sqliteStore(file).close();
    const { release } = await lockBy(ALL_OF_IT);
    const store = sqliteStore(file, LONG);
    const created = store.threads.create({ id: T1 });
    const closed = store.close();
    await release();
    await Promise.all([created, closed]);
    await using again = sqliteStore(file);
    expect(await again.threads.count({})).toBe(1);
  });

  test("a read that finds it locked is done again, up to the limit", async () => {
    const db = Database.open(file, { busyTimeoutMs: 10_000 });
    const writer = new Writer(db, "turn");
    const busy = Object.assign(new Error("database is locked"), { errcode: 5 });
    let tries = 0;
    const read = writer.snapshot(() => {
      if (++tries < 4) throw busy;
      return "read";
    });
    expect(await read).toBe("read");
    expect(tries).toBe(4);
    await writer.close();
    const hasty = new Writer(Database.open(file, { busyTimeoutMs: 0 }), "turn");
    const fail = (): never => {
      throw busy;
    };
    await expect(hasty.read(fail)).rejects.toMatchObject({ code: "storage_io" });
    await hasty.close();
  });

  test("another process that comes in between a group and its second try makes the group wait, not fail", async () => {
    const db = Database.open(file, LONG);
    db.exec("CREATE TABLE note (id TEXT PRIMARY KEY)");
    const writer = new Writer(db, "turn");
    let other: Database | undefined;
    const put = (id: string) => (tx: Tx) => tx.run("INSERT INTO note (id) VALUES (?)", id);
    let isFirst = true;
    // The second write fails after it has written, so that the group is taken back; at that moment the lock is taken by another.
    const failing = (tx: Tx) => {
      put("half")(tx);
      if (!isFirst) throw new Error("no");
      isFirst = false;
      db.run("ROLLBACK");
      other = Database.open(file, {});
      other.run("BEGIN IMMEDIATE");
      throw new Error("no");
    };
    const writes = Promise.allSettled([writer.write(put("a")), writer.write(failing), writer.write(put("c"))]);
    await turn();
    await turn();
    other?.close();
    expect((await writes).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await writer.read((reader) => reader.all("SELECT id FROM note ORDER BY id").length)).toBe(2);
    await writer.close();
  });
});

/** Root may write anywhere: it becomes somebody else for as long as the work takes. */
async function asReader(work: () => Promise<void>): Promise<void> {
  for (const name of readdirSync(folder.path)) chmodSync(join(folder.path, name), 0o444);
  chmodSync(folder.path, 0o555);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
    chmodSync(folder.path, 0o755);
  }
}

describe("a folder that cannot be written", () => {
  const readIt = async () => {
    await using store = sqliteStore(file, { readOnly: true });
    expect(await store.threads.load(T1)).toMatchObject({ metadata: { title: "kept" } });
    expect((await store.threads.list({})).items).toHaveLength(1);
    await expect(store.threads.create({ id: T2 })).rejects.toMatchObject({ code: "storage_io" });
  };

  test("is read, and nothing is written: a file that was closed", async () => {
    const writing = sqliteStore(file);
    await writing.threads.create({ id: T1, title: "kept" });
    await writing.close();
    await asReader(async () => {
      expect(() => sqliteStore(file)).toThrow(expect.objectContaining({ code: "storage_io" }));
      await readIt();
    });
    expect(readdirSync(folder.path)).toEqual(["a.db"]);
  });

  test("is read, and nothing is written: a file that another process writes to", async () => {
    const script = `import { sqliteStore } from "@awaken/stores/sqlite";
      const store = sqliteStore(process.argv[1]);
      await store.threads.create({ id: "t1", title: "kept" });
      process.on("message", () => process.exit());
      process.send("written");`;
    const args = ["--conditions=awaken-source", "--input-type=module", "-e", script, file];
    const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ["ignore", "inherit", "inherit", "ipc"] });
    locker = child;
    await once(child, "message");
    await asReader(readIt);
    const gone = once(child, "exit");
    child.send("go");
    await gone;
  });
});

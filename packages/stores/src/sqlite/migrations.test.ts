import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { append, runs, user } from "../conformance/records.ts";
import { Database } from "./database.ts";
import { MIGRATIONS, migrate } from "./migrations.ts";
import { sqliteStore } from "./store.ts";
import { tempFolder } from "./test-store.ts";

let folder: ReturnType<typeof tempFolder>;
let file: string;
beforeEach(() => {
  folder = tempFolder();
  file = join(folder.path, "a.db");
});
afterEach(() => folder.remove());

const versionOf = (db: Database) => db.get("PRAGMA user_version")?.["user_version"];
const tablesOf = (db: Database) => db.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").map((row) => row["name"]);
const STEPS = ["CREATE TABLE one (a)", "CREATE TABLE two (b); INSERT INTO one VALUES (1)", "ALTER TABLE one RENAME TO uno"];

function at<T>(work: (db: Database) => T): T {
  const db = Database.open(file, {});
  try {
    return work(db);
  } finally {
    db.close();
  }
}

describe("migrations", () => {
  test.each(MIGRATIONS.map((_, number) => number))("from number %i a store opens, and works", async (number) => {
    at((db) => migrate(db, MIGRATIONS.slice(0, number)));
    await using store = sqliteStore(file);
    await store.commit(append(0, [user("m1")], { run: runs.running() }));
    expect(await store.stats()).toMatchObject({ threads: 1, messages: 1 });
  });

  test.each([0, 1, 2, 3])("steps after number %i are done once, in their order", (number) => {
    at((db) => migrate(db, STEPS.slice(0, number)));
    at((db) => {
      migrate(db, STEPS);
      migrate(db, STEPS);
      expect(versionOf(db)).toBe(3);
      expect(tablesOf(db)).toEqual(["two", "uno"]);
      expect(db.all("SELECT a FROM uno")).toHaveLength(1);
    });
  });

  test("a step that fails leaves the database at its number, with nothing of it", () => {
    at((db) => migrate(db, STEPS.slice(0, 1)));
    at((db) => {
      expect(() => migrate(db, [...STEPS.slice(0, 2), "CREATE TABLE three (c); SELECT nonsense"])).toThrow();
      expect(versionOf(db)).toBe(1);
      expect(tablesOf(db)).toEqual(["one"]);
    });
  });

  test("a number past the last one is storage_too_new, and nothing changes", () => {
    at((db) => migrate(db, STEPS));
    at((db) => {
      expect(() => migrate(db, STEPS.slice(0, 2))).toThrow(
        expect.objectContaining({ code: "storage_too_new", details: expect.objectContaining({ found: 3, known: 2 }) }),
      );
      expect(versionOf(db)).toBe(3);
    });
  });

  test.each([1, 2, 3])("another process may make the tables before statement %i of ours", (number) => {
    at((db) => {
      let statements = 0;
      const watched = new Proxy(db, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          return (...args: unknown[]) => {
            if (++statements === number) at((other) => migrate(other));
            return Reflect.apply(value, target, args);
          };
        },
      });
      migrate(watched);
      expect(statements).toBeGreaterThanOrEqual(number);
      expect(versionOf(db)).toBe(MIGRATIONS.length);
    });
  });

  test("a store that is as large as it may be is migrated, and may not grow afterwards", async () => {
    const bytes = at((db) => {
      migrate(db, MIGRATIONS.slice(0, 7));
      db.exec(`
        INSERT INTO thread (scope_id, thread_id, updated_at, message_count, folded, run_count, record) VALUES ('s', 't', 1, 64, 0, 0, '{}');
        WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 64)
          INSERT INTO message (scope_id, thread_id, seq, message_id, is_internal, record)
          SELECT 's', 't', seq, 'm' || seq, 0, hex(zeroblob(4000)) FROM n`);
      return Number(db.get("PRAGMA page_count")?.["page_count"]) * Number(db.get("PRAGMA page_size")?.["page_size"]);
    });
    await using store = sqliteStore(file, { maxBytes: bytes });
    expect(await store.stats()).toMatchObject({ messages: 64 });
    const large = user("m1", "x".repeat(4 * bytes));
    await expect(store.commit(append(0, [large]))).rejects.toMatchObject({ code: "storage_io" });
  });

  test("several processes may open a new file at once", async () => {
    const script = `
      import { sqliteStore } from "@awaken/stores/sqlite";
      const store = sqliteStore(process.argv[1]);
      await store.threads.create({ id: "t" + process.pid });
      await store.close();`;
    const args = ["--conditions=awaken-source", "--input-type=module", "-e", script, file];
    await Promise.all(Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })));
    await using store = sqliteStore(file);
    expect(await store.threads.count({})).toBe(4);
  });
});

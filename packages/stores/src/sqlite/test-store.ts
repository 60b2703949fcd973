import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DEFAULT_SCOPE, type JsonObject } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import type { ConformanceHooks, StoredRow } from "../conformance/world.ts";
import { textOf } from "../sql/rows.ts";
import { damaged, placeOf } from "../sql/test-damage.ts";
import { type SqliteStoreOptions, sqliteStore } from "./store.ts";

// Stores in files of their own, for tests.

export function tempFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "awaken-sqlite-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

interface TestFile {
  readonly file: string;
  readonly inner: QueueStore;
  readonly remove: () => void;
}

const files = new WeakMap<QueueStore, TestFile>();

function closing({ file, inner, remove }: TestFile): QueueStore {
  const close = async () => {
    await inner.close();
    remove();
  };
  const store = { ...inner, close, [Symbol.asyncDispose]: close };
  files.set(store, { file, inner, remove });
  return store;
}

/** Tests end no machine, so nothing waits for the disk. The file goes when the store closes. */
export function openTestStore(options: SqliteStoreOptions = {}): QueueStore {
  const { path, remove } = tempFolder();
  const file = join(path, "test.db");
  return closing({ file, remove, inner: sqliteStore(file, { synchronous: "normal", ...options }) });
}

function testFileOf(store: QueueStore): TestFile {
  const found = files.get(store);
  if (found === undefined) throw new Error("not a store of this test");
  return found;
}

export const fileOf = (store: QueueStore): string => testFileOf(store).file;

/** As after the end of a process: nothing is left but the file. */
export async function reopenTestStore(store: QueueStore, clock: () => number): Promise<QueueStore> {
  const { file, inner, remove } = testFileOf(store);
  await inner.close();
  return closing({ file, remove, inner: sqliteStore(file, { clock, synchronous: "normal" }) });
}

function damage(store: QueueStore, row: StoredRow, fields: JsonObject): void {
  const at = placeOf(row);
  const { table, key, column = "record" } = at;
  const where =
    table === "message"
      ? "WHERE thread = (SELECT number FROM thread WHERE scope_id = ? AND thread_id = ?) AND seq = ?"
      : `WHERE ${["scope_id", ...Object.keys(key)].map((name) => `${name} = ?`).join(" AND ")}`;
  const values = [DEFAULT_SCOPE, ...Object.values(key)];
  const db = new DatabaseSync(fileOf(store));
  try {
    const found = db.prepare(`SELECT * FROM ${table} ${where}`).get(...values);
    if (found === undefined) throw new Error(`no ${row.type} to damage`);
    const json = textOf(found, column);
    db.prepare(`UPDATE ${table} SET ${column} = ? ${where}`).run(damaged(json, at, fields), ...values);
  } finally {
    db.close();
  }
}

export const hooks: ConformanceHooks<QueueStore> = {
  reopen: reopenTestStore,
  corrupt: damage,
  openPeer: (store, clock) => sqliteStore(fileOf(store), { clock, synchronous: "normal" }),
};

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DEFAULT_SCOPE, type JsonObject, type Store } from "@awaken/contract";
import type { ConformanceHooks, StoredRow } from "../conformance/world.ts";
import { textOf } from "../sql/rows.ts";
import { damaged, placeOf } from "../sql/test-damage.ts";
import { unpackRow } from "./packed-rows.ts";
import { type SqliteStoreOptions, sqliteStore } from "./store.ts";

// Stores in files of their own, for tests.

export function tempFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "awaken-sqlite-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

const files = new WeakMap<Store, string>();

function closing(store: Store, after: () => void): Store {
  const close = async () => {
    await store.close();
    after();
  };
  return { ...store, close, [Symbol.asyncDispose]: close };
}

/** Tests end no machine, so nothing waits for the disk. The file goes when the store closes. */
export function openTestStore(options: SqliteStoreOptions = {}): Store {
  const folder = tempFolder();
  const file = join(folder.path, "test.db");
  const store = closing(sqliteStore(file, { synchronous: "normal", ...options }), folder.remove);
  files.set(store, file);
  return store;
}

export function fileOf(store: Store): string {
  const file = files.get(store);
  if (file === undefined) throw new Error("not a store of this test");
  return file;
}

function damage(store: Store, row: StoredRow, fields: JsonObject): void {
  const at = placeOf(row);
  const { table, key, column = "record" } = at;
  const where = `WHERE ${["scope_id", ...Object.keys(key)].map((name) => `${name} = ?`).join(" AND ")}`;
  const values = [DEFAULT_SCOPE, ...Object.values(key)];
  const db = new DatabaseSync(fileOf(store));
  try {
    const found = db.prepare(`SELECT * FROM ${table} ${where}`).get(...values);
    if (found === undefined) throw new Error(`no ${row.type} to damage`);
    const json = textOf(unpackRow(table, found), column);
    db.prepare(`UPDATE ${table} SET ${column} = ? ${where}`).run(damaged(json, at, fields), ...values);
  } finally {
    db.close();
  }
}

export const hooks: ConformanceHooks = {
  corrupt: damage,
  openPeer: (store, clock) => sqliteStore(fileOf(store), { clock, synchronous: "normal" }),
};

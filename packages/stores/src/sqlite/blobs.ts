import type { ScopeId, ThreadId } from "@awaken/contract";
import { type Blob, decodeRecord } from "../sql/blobs.ts";
import type { Row } from "../sql/rows.ts";
import { textOf } from "../sql/rows.ts";
import type { Connection, Tx } from "./database.ts";

/** Large parts live as long as one of the threads that use them. */
export function writeBlobs(tx: Tx, scopeId: ScopeId, threadId: ThreadId, blobs: readonly Blob[]): void {
  for (const { hash, body } of blobs) {
    tx.run("INSERT INTO blob (scope_id, hash, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", scopeId, hash, body);
    tx.run("INSERT INTO blob_use (scope_id, thread_id, hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", scopeId, threadId, hash);
  }
}

/** The JSON of a row with its large parts put back. */
export function decode(db: Connection, scopeId: ScopeId, row: Row, key: string): unknown {
  return decodeRecord(row, key, (hash) => {
    const found = db.get("SELECT body FROM blob WHERE scope_id = ? AND hash = ?", scopeId, hash);
    return found && textOf(found, "body");
  });
}

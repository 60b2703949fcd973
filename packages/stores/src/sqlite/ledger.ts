import type { ScopeId } from "@awaken/contract";
import type { LedgerEntry, LedgerStore } from "@awaken/contract/store";
import type { LedgerPlan } from "../plan/ledger-plan.ts";
import { LEDGER_COLUMNS, ledgerRow, readLedger } from "../sql/columns.ts";
import { Conditions } from "../sql/conditions.ts";
import { type Row, textOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { decode, writeBlobs } from "./blobs.ts";
import type { Connection, Tx } from "./database.ts";

const COLUMNS = "idempotency_key, thread_id, run_id, parts, record";

const readOf = (db: Connection, scopeId: ScopeId) => (row: Row) =>
  readLedger(row, decode(db, scopeId, row, textOf(row, "idempotency_key")));

export function loadEffect(db: Connection, scopeId: ScopeId, key: string): LedgerEntry | undefined {
  const row = db.get(`SELECT ${COLUMNS} FROM ledger WHERE scope_id = ? AND idempotency_key = ?`, scopeId, key);
  return row && readOf(db, scopeId)(row);
}

/** A row keeps the place of its first claim. */
export function writeLedger(tx: Tx, scopeId: ScopeId, { added, changed }: LedgerPlan, blobBytes: number): void {
  for (const entry of [...added, ...changed]) {
    const { values, blobs } = ledgerRow(entry, blobBytes);
    tx.run(
      `INSERT INTO ledger (scope_id, ${LEDGER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (scope_id, idempotency_key) DO UPDATE SET
         status = excluded.status, updated_at = excluded.updated_at, record = excluded.record, parts = excluded.parts`,
      ...[scopeId, ...values],
    );
    writeBlobs(tx, scopeId, entry.threadId, blobs);
  }
}

export function ledgerPort({ scopeId, session }: Access): LedgerStore {
  return {
    load: (key) => session.snapshot((db) => loadEffect(db, scopeId, key)),

    list: (runId, { statuses } = {}) =>
      session.snapshot((db) => {
        const where = new Conditions("?").add("scope_id = ?", scopeId).add("run_id = ?", runId).oneOf("status", statuses);
        const sql = `SELECT ${COLUMNS} FROM ledger ${where.where} ORDER BY rowid`;
        return db.all(sql, ...where.values).map(readOf(db, scopeId));
      }),
  };
}

import { type LedgerEntry, type LedgerStore, ledgerEntry, type ScopeId } from "@awaken/contract";
import { LEDGER_COLUMNS, ledgerRow } from "../sql/columns.ts";
import { Conditions } from "../sql/conditions.ts";
import { type Row, textOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { bodiesOf, decode, writeBlobs } from "./blobs.ts";
import { insertRows } from "./insert-rows.ts";
import { type Statement, sql } from "./statement.ts";

const COLUMNS = `idempotency_key, record, parts, ${bodiesOf("ledger")}`;

export function readEffect(row: Row): LedgerEntry {
  const key = textOf(row, "idempotency_key");
  return ledgerEntry.read(decode(row, key), key);
}

export const selectEffects = (scopeId: ScopeId, keys: readonly string[]): Statement =>
  sql(`SELECT ${COLUMNS} FROM ~ledger WHERE scope_id = $1 AND idempotency_key = ANY ($2::text[])`, scopeId, keys);

/** A row keeps the place of its first claim. */
const ON_CONFLICT = `ON CONFLICT (scope_id, idempotency_key) DO UPDATE SET
  status = excluded.status, updated_at = excluded.updated_at, record = excluded.record, parts = excluded.parts`;

export function writeLedger(scopeId: ScopeId, entries: readonly LedgerEntry[], blobBytes: number): readonly Statement[] {
  const [first] = entries;
  if (first === undefined) return [];
  const rows = entries.map((entry) => ledgerRow(entry, blobBytes));
  const into = { table: "ledger", columns: LEDGER_COLUMNS, onConflict: ON_CONFLICT };
  const blobs = rows.flatMap((row) => row.blobs);
  return [
    ...insertRows(
      scopeId,
      into,
      rows.map((row) => row.values),
    ),
    ...writeBlobs(scopeId, first.threadId, blobs),
  ];
}

export function ledgerPort({ scopeId, session }: Access): LedgerStore {
  return {
    load: async (key) => (await session.read(selectEffects(scopeId, [key]))).map(readEffect)[0],

    async list(runId, { statuses } = {}) {
      const where = new Conditions("$").add("scope_id = ?", scopeId).add("run_id = ?", runId).oneOf("status", statuses);
      const rows = await session.read(sql(`SELECT ${COLUMNS} FROM ~ledger ${where.where} ORDER BY place`, ...where.values));
      return rows.map(readEffect);
    },
  };
}

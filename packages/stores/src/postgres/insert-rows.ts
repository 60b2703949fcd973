import type { ScopeId } from "@awaken/contract";
import type { Values } from "../sql/columns.ts";
import { type Statement, sql } from "./statement.ts";

/** Types of columns that are not text; they are named alike in all tables. */
const TYPES: Readonly<Record<string, string>> = {
  seq: "bigint",
  thread_seq: "bigint",
  run_seq: "bigint",
  count: "integer",
  place: "bigint",
  epoch: "bigint",
  ordinal: "bigint",
  is_internal: "smallint",
  priority: "smallint",
  created_at: "double precision",
  updated_at: "double precision",
  available_at: "double precision",
  lease_until: "double precision",
  record: "json",
};

/** All rows in one statement, whatever their number: one array for each column. No rows, no statement. */
export function insertRows(
  scopeId: ScopeId,
  { table, columns, onConflict = "" }: { readonly table: string; readonly columns: string; readonly onConflict?: string },
  rows: readonly Values[],
): readonly Statement[] {
  if (rows.length === 0) return [];
  const names = columns.split(", ");
  const lists = names.map((_, column) => rows.map((row) => row[column] ?? null));
  const unnested = names.map((name, index) => `$${index + 2}::${TYPES[name] ?? "text"}[]`).join(", ");
  return [sql(`INSERT INTO ~${table} (scope_id, ${columns}) SELECT $1, * FROM unnest(${unnested}) ${onConflict}`, scopeId, ...lists)];
}

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

/** So few rows, as most commits have, may be listed. */
const MAX_LISTED = 2;

export interface Target {
  readonly table: string;
  readonly columns: string;
  readonly onConflict?: string;
  /**
   * For a table that every commit writes to: the statements that list few rows, by their number, as they are made. Listing is less work
   * than arrays for both sides, at the price of a statement for each number, which the other tables would multiply.
   */
  readonly listed?: Map<number, string>;
}

/** All rows in one statement, whatever their number. No rows, no statement. */
export function insertRows(scopeId: ScopeId, target: Target, rows: readonly Values[]): readonly Statement[] {
  if (rows.length === 0) return [];
  const listed = rows.length > MAX_LISTED ? undefined : target.listed;
  if (listed === undefined) return [insertUnnested(scopeId, target, rows)];
  const text = listed.get(rows.length) ?? listText(target, rows.length);
  listed.set(rows.length, text);
  return [sql(text, scopeId, ...rows.flat())];
}

function listText({ table, columns, onConflict = "" }: Target, count: number): string {
  const width = columns.split(", ").length;
  const marks = (row: number) => Array.from({ length: width }, (_, column) => `$${2 + row * width + column}`).join(", ");
  const lists = Array.from({ length: count }, (_, row) => `($1, ${marks(row)})`).join(", ");
  return `INSERT INTO ~${table} (scope_id, ${columns}) VALUES ${lists} ${onConflict}`;
}

/** One array for each column. */
function insertUnnested(scopeId: ScopeId, { table, columns, onConflict = "" }: Target, rows: readonly Values[]): Statement {
  const names = columns.split(", ");
  const lists = names.map((_, column) => rows.map((row) => row[column] ?? null));
  const unnested = names.map((name, index) => `$${index + 2}::${TYPES[name] ?? "text"}[]`).join(", ");
  return sql(`INSERT INTO ~${table} (scope_id, ${columns}) SELECT $1, * FROM unnest(${unnested}) ${onConflict}`, scopeId, ...lists);
}

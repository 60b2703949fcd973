import { type Row, textOf } from "../sql/rows.ts";
import type { Database } from "./database.ts";
import { PHRASES } from "./phrases.ts";

// Files of older versions said phrases of their JSON, and values that the row has in other columns, in a control character or two: JSON
// escapes those, so each was free to stand for something longer. Nothing writes such rows any more.

const FIRST = 0x01;
const FAR = "\u001e";
const OWN = "\u001f";
const NEAR_COUNT = 0x1e - FIRST;
const FIRST_FAR = 0x20;

const codeOf = (index: number): string =>
  index < NEAR_COUNT ? String.fromCharCode(FIRST + index) : FAR + String.fromCharCode(FIRST_FAR + index - NEAR_COUNT);

const BY_CODE = new Map(PHRASES.map((phrase, index) => [codeOf(index), phrase]));

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ANY_CODE = /[\u0001-\u001d]|[\u001e\u001f][ -~]/g;

/** Plain JSON stays as it is. `own` are values of other columns, in the order in which the row was packed. */
export function unpack(text: string, own: readonly string[]): string {
  return text.replaceAll(ANY_CODE, (code) => (code[0] === OWN ? own[Number(code[1])] : BY_CODE.get(code)) ?? code);
}

const TABLES: Readonly<Record<string, readonly string[]>> = {
  message: ["message_id", "run_id"],
  run: ["run_id", "thread_id", "created_at", "updated_at"],
  event: ["run_id", "thread_id"],
  ledger: ["idempotency_key", "updated_at"],
};

/** A key of an effect is made of ids: they count behind the columns. */
function valuesOf(row: Row, columns: readonly string[]): readonly string[] {
  const texts = columns.map((name) => (typeof row[name] === "string" || typeof row[name] === "number" ? String(row[name]) : ""));
  const [first = ""] = texts;
  return first.includes(":") ? [...texts, ...first.split(":")] : texts;
}

const BATCH = 500;

/** Writes every row of an older file as plain JSON. A step of the migrations. */
export function unpackRows(db: Database): void {
  for (const [table, columns] of Object.entries(TABLES)) {
    const select = `SELECT rowid AS place, record, ${columns.join(", ")} FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ${BATCH}`;
    let rows = db.all(select, 0);
    while (rows.length > 0) {
      for (const row of rows) {
        const record = textOf(row, "record");
        const json = unpack(record, valuesOf(row, columns));
        if (json !== record) db.run(`UPDATE ${table} SET record = ? WHERE rowid = ?`, json, Number(row["place"]));
      }
      rows = rows.length < BATCH ? [] : db.all(select, Number(rows.at(-1)?.["place"]));
    }
  }
}

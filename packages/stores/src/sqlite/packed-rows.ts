import { LEDGER_COLUMNS, MESSAGE_COLUMNS, type Values } from "../sql/columns.ts";
import { EVENT_COLUMNS } from "../sql/event-rows.ts";
import { type Row, textOf } from "../sql/rows.ts";
import { RUN_COLUMNS } from "../sql/run-row.ts";
import type { Tx } from "./database.ts";
import { pack, unpack } from "./packed-text.ts";

const RECORD = "record";

/** Rows of one table whose records are packed. They name values of their other columns by number: the order of `own` never changes. */
class PackedRows {
  /** What a query has to select beside whatever else it needs. */
  readonly columns: string;
  readonly #own: readonly string[];
  readonly #ownAt: readonly number[];
  readonly #recordAt: number;

  constructor(columns: string, own: readonly string[]) {
    const names = columns.split(", ");
    this.columns = [...own, RECORD].join(", ");
    this.#own = own;
    this.#ownAt = own.map((name) => names.indexOf(name));
    this.#recordAt = names.indexOf(RECORD);
  }

  /** Values in the order of the columns, with the record packed. */
  pack(values: Values, { rows }: Pick<Tx, "rows">): Values {
    if (rows === "plain") return values;
    const own = this.#ownAt.map((at) => values[at]);
    return values.with(this.#recordAt, pack(String(values[this.#recordAt]), valuesOf(own)));
  }

  /** The record of `pack` alone. */
  packRecord(values: Values, tx: Pick<Tx, "rows">): string {
    return String(this.pack(values, tx)[this.#recordAt]);
  }

  /** The row with its record as JSON. */
  unpack(row: Row): Row {
    const own = this.#own.map((name) => row[name]);
    return { ...row, [RECORD]: unpack(textOf(row, RECORD), valuesOf(own)) };
  }
}

/** A key of an effect is made of ids: they count behind the columns. */
function valuesOf(own: readonly unknown[]): readonly string[] {
  const texts = own.map((value) => (typeof value === "string" || typeof value === "number" ? String(value) : ""));
  const [first = ""] = texts;
  return first.includes(":") ? [...texts, ...first.split(":")] : texts;
}

export const packedMessages = new PackedRows(MESSAGE_COLUMNS, ["message_id", "run_id"]);
export const packedRuns = new PackedRows(RUN_COLUMNS, ["run_id", "thread_id", "created_at", "updated_at"]);
export const packedEvents = new PackedRows(EVENT_COLUMNS, ["run_id", "thread_id"]);
export const packedEffects = new PackedRows(LEDGER_COLUMNS, ["idempotency_key", "updated_at"]);

const BY_TABLE: { readonly [table: string]: PackedRows } = {
  message: packedMessages,
  run: packedRuns,
  event: packedEvents,
  ledger: packedEffects,
};

/** A whole row of any of our tables with its record as JSON, for programs that look into the file themselves. */
export const unpackRow = (table: string, row: Row): Row => BY_TABLE[table]?.unpack(row) ?? row;

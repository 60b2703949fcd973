import type { ScopeId } from "@awaken/contract";
import type { LedgerEntry, LedgerStore } from "@awaken/contract/store";
import type { LedgerPlan } from "../plan/ledger-plan.ts";
import { LEDGER_COLUMNS, ledgerRow, readLedger } from "../sql/columns.ts";
import { Conditions } from "../sql/conditions.ts";
import { type Row, textOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { bodiesOf, decode, writeBlobs } from "./blobs.ts";
import { insertRows } from "./insert-rows.ts";
import { type Statement, sql } from "./statement.ts";

const COLUMNS = `idempotency_key, thread_id, run_id, record, parts, ${bodiesOf("ledger")}`;

export const readEffect = (row: Row): LedgerEntry => readLedger(row, decode(row, textOf(row, "idempotency_key")));

const selectEffect = (scopeId: ScopeId, key: string): Statement =>
  sql(`SELECT ${COLUMNS} FROM ~ledger WHERE scope_id = $1 AND idempotency_key = $2`, scopeId, key);

/** Nobody else settles them until the end of the transaction. */
export const lockEffects = (scopeId: ScopeId, keys: readonly string[]): Statement =>
  sql(
    `SELECT ${COLUMNS} FROM ~ledger ledger WHERE scope_id = $1 AND idempotency_key = ANY ($2::text[])
     ORDER BY idempotency_key FOR UPDATE OF ledger`,
    ...[scopeId, keys],
  );

const UPDATE_EFFECT =
  "UPDATE ~ledger SET status = $3, updated_at = $4, record = $5, parts = $6 WHERE scope_id = $1 AND idempotency_key = $2";
/** Gives a row if the effect is as it was remembered. */
const UPDATE_KNOWN_EFFECT = `${UPDATE_EFFECT} AND record::text = $7 AND parts IS NULL RETURNING 1`;

/** Those that are known are written, as `known_effect0` and so on, if they are still the same. */
export type KnownEffects = ReadonlyMap<string, LedgerEntry>;

/** A new key is inserted and nothing else, so that two runs that claim it at once do not both have it. */
export function writeLedger(
  scopeId: ScopeId,
  { added, changed }: LedgerPlan,
  blobBytes: number,
  effects?: KnownEffects,
): readonly Statement[] {
  const encode = (entries: readonly LedgerEntry[]) => entries.map((entry) => ({ entry, ...ledgerRow(entry, blobBytes) }));
  const [fresh, known] = [encode(added), encode(changed)];
  return [
    ...insertRows(
      scopeId,
      { table: "ledger", columns: LEDGER_COLUMNS },
      fresh.map((row) => row.values),
    ),
    ...known.map(({ entry, values: [key = null, , , status = null, updatedAt = null, text = null, parts = null] }, index) => {
      const values = [scopeId, key, status, updatedAt, text, parts];
      const before = effects?.get(entry.idempotencyKey);
      if (before === undefined) return sql(UPDATE_EFFECT, ...values);
      return { ...sql(UPDATE_KNOWN_EFFECT, ...values, ledgerRow(before, blobBytes).values[5] ?? null), name: `known_effect${index}` };
    }),
    ...[...fresh, ...known].flatMap(({ entry, blobs }) => writeBlobs(scopeId, entry.threadId, blobs)),
  ];
}

export function ledgerPort({ scopeId, session }: Access): LedgerStore {
  return {
    load: async (key) => (await session.read(selectEffect(scopeId, key))).map(readEffect)[0],

    async list(runId, { statuses } = {}) {
      const where = new Conditions("$").add("scope_id = ?", scopeId).add("run_id = ?", runId).oneOf("status", statuses);
      const rows = await session.read(sql(`SELECT ${COLUMNS} FROM ~ledger ${where.where} ORDER BY place`, ...where.values));
      return rows.map(readEffect);
    },
  };
}

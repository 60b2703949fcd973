import type { ScopeId } from "@awaken/contract";
import {
  type ConfigKey,
  type ConfigStore,
  checkConfigRevision,
  clampLimit,
  readConfigRow,
  stampConfigRecord,
  toConfigRow,
} from "@awaken/contract/store";
import { codeUnitKey } from "../sql/code-units.ts";
import { Conditions } from "../sql/conditions.ts";
import { jsonOf, type Row, textOf, toPage } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { type Statement, sql } from "./statement.ts";

const readEntry = (namespace: string) => (row: Row) => readConfigRow(jsonOf(row, "record"), { namespace, id: textOf(row, "id") });

const PLACE = "WHERE scope_id = $1 AND namespace = $2 AND sort_key = $3";

const selectEntry = (scopeId: ScopeId, { namespace, id }: ConfigKey): Statement =>
  sql(`SELECT id, record FROM ~config ${PLACE} FOR UPDATE`, scopeId, namespace, codeUnitKey(id));

/** Two writers of one id follow each other, also when there is no row to lock yet. */
const lockEntry = (scopeId: ScopeId, { namespace, id }: ConfigKey): Statement =>
  sql(
    "SELECT pg_advisory_xact_lock(hashtextextended('~config' || chr(31) || $1 || chr(31) || $2 || chr(31) || $3, 0))",
    ...[scopeId, namespace, id],
  );

export function configPort({ scopeId, session, env, wire }: Access): ConfigStore {
  const announce = ({ namespace, id }: ConfigKey) => wire.configChanged({ scopeId, key: { namespace, id } });
  return {
    async load(key) {
      const text = `SELECT id, record FROM ~config ${PLACE}`;
      const rows = await session.read(sql(text, scopeId, key.namespace, codeUnitKey(key.id)));
      return rows.map(readEntry(key.namespace))[0];
    },

    async list(namespace, { after, limit } = {}) {
      const where = new Conditions("$").add("scope_id = ?", scopeId).add("namespace = ?", namespace);
      if (after !== undefined) where.add("sort_key > ?", codeUnitKey(after));
      const size = clampLimit(limit);
      const tail = where.bind("ORDER BY sort_key LIMIT ?", size + 1);
      const rows = await session.read(sql(`SELECT id, record FROM ~config ${where.where} ${tail}`, ...where.values));
      return toPage(rows.map(readEntry(namespace)), size, (entry) => entry.id);
    },

    put: ({ namespace, id, record }, guard = {}) =>
      session.write(async (tx) => {
        const key = { namespace, id };
        const [, rows = []] = await tx.read(lockEntry(scopeId, key), selectEntry(scopeId, key));
        const before = rows.map(readEntry(namespace))[0]?.record;
        checkConfigRevision(before, key, guard);
        const row = toConfigRow({ namespace, id, record: stampConfigRecord(before, record, env.clock()) });
        const text = `INSERT INTO ~config (scope_id, namespace, sort_key, id, record) VALUES ($1, $2, $3, $4, $5)
          ON CONFLICT (scope_id, namespace, sort_key) DO UPDATE SET record = excluded.record`;
        const put = sql(text, scopeId, namespace, codeUnitKey(id), id, JSON.stringify(row));
        return { writes: [put], result: readConfigRow(row, key), tell: () => announce(key) };
      }),

    delete: ({ namespace, id }, guard = {}) =>
      session.write(async (tx) => {
        const key = { namespace, id };
        const [, rows = []] = await tx.read(lockEntry(scopeId, key), selectEntry(scopeId, key));
        const [before] = rows.map(readEntry(namespace));
        checkConfigRevision(before?.record, key, guard);
        if (before === undefined) return { writes: [], result: false };
        const remove = sql(`DELETE FROM ~config ${PLACE}`, scopeId, namespace, codeUnitKey(id));
        return { writes: [remove], result: true, tell: () => announce(key) };
      }),

    watch: ({ signal }) => wire.configChanges(scopeId, [signal, env.closing]),
  };
}

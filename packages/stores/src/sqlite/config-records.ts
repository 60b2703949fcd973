import type { ScopeId } from "@awaken/contract";
import {
  type ConfigEntry,
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
import type { Connection, Tx } from "./database.ts";

const readEntry = (namespace: string) => (row: Row) => readConfigRow(jsonOf(row, "record"), { namespace, id: textOf(row, "id") });

function loadEntry(db: Connection, scopeId: ScopeId, { namespace, id }: ConfigKey): ConfigEntry | undefined {
  const sql = "SELECT id, record FROM config WHERE scope_id = ? AND namespace = ? AND sort_key = ?";
  const row = db.get(sql, scopeId, namespace, codeUnitKey(id));
  return row && readEntry(namespace)(row);
}

export function configPort({ scopeId, session, env, channels }: Access): ConfigStore {
  const announce = (tx: Tx, { namespace, id }: ConfigKey) =>
    tx.afterCommit(() => channels.config.send({ scopeId, key: { namespace, id } }));
  return {
    load: (key) => session.read((db) => loadEntry(db, scopeId, key)),

    list: (namespace, { after, limit } = {}) =>
      session.read((db) => {
        const where = new Conditions("?").add("scope_id = ?", scopeId).add("namespace = ?", namespace);
        if (after !== undefined) where.add("sort_key > ?", codeUnitKey(after));
        const size = clampLimit(limit);
        const tail = where.bind("ORDER BY sort_key LIMIT ?", size + 1);
        const rows = db.all(`SELECT id, record FROM config ${where.where} ${tail}`, ...where.values);
        return toPage(rows.map(readEntry(namespace)), size, (entry) => entry.id);
      }),

    put: ({ namespace, id, record }, guard = {}) =>
      session.write((tx) => {
        const before = loadEntry(tx, scopeId, { namespace, id })?.record;
        checkConfigRevision(before, { namespace, id }, guard);
        const row = toConfigRow({ namespace, id, record: stampConfigRecord(before, record, env.clock()) });
        tx.run(
          `INSERT INTO config (scope_id, namespace, sort_key, id, record) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (scope_id, namespace, sort_key) DO UPDATE SET record = excluded.record`,
          ...[scopeId, namespace, codeUnitKey(id), id, JSON.stringify(row)],
        );
        announce(tx, { namespace, id });
        return readConfigRow(row, { namespace, id });
      }),

    delete: ({ namespace, id }, guard = {}) =>
      session.write((tx) => {
        const before = loadEntry(tx, scopeId, { namespace, id });
        checkConfigRevision(before?.record, { namespace, id }, guard);
        if (before === undefined) return false;
        tx.run("DELETE FROM config WHERE scope_id = ? AND namespace = ? AND sort_key = ?", scopeId, namespace, codeUnitKey(id));
        announce(tx, { namespace, id });
        return true;
      }),

    watch: ({ signal }) => channels.config.listen([signal, env.closing], (change) => (change.scopeId === scopeId ? change.key : undefined)),
  };
}

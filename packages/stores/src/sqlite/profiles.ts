import { PROFILE_SCHEMA_VERSION, type ProfileStore, profileRecord } from "@awaken/contract/store";
import { codeUnitOrder } from "../sql/code-units.ts";
import { jsonOf, type Row, textOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";

const readProfile = (row: Row) => profileRecord.read(jsonOf(row, "record"), `${textOf(row, "owner")}/${textOf(row, "key")}`);

export function profilePort({ scopeId, session, env }: Access): ProfileStore {
  return {
    load: (owner, key) =>
      session.read((db) => {
        const row = db.get("SELECT owner, key, record FROM profile WHERE scope_id = ? AND owner = ? AND key = ?", scopeId, owner, key);
        return row && readProfile(row);
      }),

    put: (owner, key, value) =>
      session.write((tx) => {
        const record = profileRecord.check({ schemaVersion: PROFILE_SCHEMA_VERSION, owner, key, value, updatedAt: env.clock() });
        tx.run(
          `INSERT INTO profile (scope_id, owner, key, record) VALUES (?, ?, ?, ?)
           ON CONFLICT (scope_id, owner, key) DO UPDATE SET record = excluded.record`,
          ...[scopeId, owner, key, JSON.stringify(record)],
        );
        return record;
      }),

    delete: (owner, key) =>
      session.write((tx) => {
        tx.run("DELETE FROM profile WHERE scope_id = ? AND owner = ? AND key = ?", scopeId, owner, key);
      }),

    list: (owner) =>
      session.read((db) => {
        const rows = db.all("SELECT owner, key, record FROM profile WHERE scope_id = ? AND owner = ?", scopeId, owner);
        return rows.map(readProfile).sort((a, b) => codeUnitOrder(a.key, b.key));
      }),

    clear: (owner) =>
      session.write((tx) => {
        tx.run("DELETE FROM profile WHERE scope_id = ? AND owner = ?", scopeId, owner);
      }),
  };
}

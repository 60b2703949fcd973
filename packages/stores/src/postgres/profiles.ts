import { PROFILE_SCHEMA_VERSION, type ProfileStore, profileRecord } from "@awaken/contract/store";
import { codeUnitOrder } from "../sql/code-units.ts";
import { jsonOf, type Row, textOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { type Statement, sql } from "./statement.ts";

const readProfile = (row: Row) => profileRecord.read(jsonOf(row, "record"), `${textOf(row, "owner")}/${textOf(row, "key")}`);

export function profilePort({ scopeId, session, env }: Access): ProfileStore {
  const write = (statement: Statement) => session.write(async () => ({ writes: [statement], result: undefined }));
  return {
    async load(owner, key) {
      const text = "SELECT owner, key, record FROM ~profile WHERE scope_id = $1 AND owner = $2 AND key = $3";
      return (await session.read(sql(text, scopeId, owner, key))).map(readProfile)[0];
    },

    async put(owner, key, value) {
      const record = profileRecord.check({ schemaVersion: PROFILE_SCHEMA_VERSION, owner, key, value, updatedAt: env.clock() });
      const text = `INSERT INTO ~profile (scope_id, owner, key, record) VALUES ($1, $2, $3, $4)
        ON CONFLICT (scope_id, owner, key) DO UPDATE SET record = excluded.record`;
      await write(sql(text, scopeId, owner, key, JSON.stringify(record)));
      return record;
    },

    delete: (owner, key) => write(sql("DELETE FROM ~profile WHERE scope_id = $1 AND owner = $2 AND key = $3", scopeId, owner, key)),

    async list(owner) {
      const rows = await session.read(sql("SELECT owner, key, record FROM ~profile WHERE scope_id = $1 AND owner = $2", scopeId, owner));
      return rows.map(readProfile).sort((a, b) => codeUnitOrder(a.key, b.key));
    },

    clear: (owner) => write(sql("DELETE FROM ~profile WHERE scope_id = $1 AND owner = $2", scopeId, owner)),
  };
}

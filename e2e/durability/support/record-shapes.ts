import { DatabaseSync } from "node:sqlite";
import { isJsonObject } from "@awaken/contract";
import { query } from "./databases.ts";

/** Fields that hold whatever a tool, a plugin or a user put there. */
const FREE = new Set(["extensions", "versions", "input", "payload", "data", "parameters", "responseSchema", "custom", "value", "spec"]);

function addPaths(value: unknown, path: string, paths: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) addPaths(item, `${path}[]`, paths);
  else if (isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) {
      const place = key === "schemaVersion" ? `${path}.${key}=${JSON.stringify(inner)}` : `${path}.${key}`;
      paths.add(place);
      if (!FREE.has(key)) addPaths(inner, place, paths);
    }
  }
}

/** The fields of all records of a file, by table: `run.waiting.tickets[].action`; versions with their number. */
export function recordShapes(file: string): readonly string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const paths = new Set<string>();
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all();
    for (const { name } of tables) {
      for (const row of db.prepare(`SELECT * FROM "${name}"`).all()) {
        for (const column of ["record", "state"]) {
          const json = row[column];
          if (typeof json === "string") addPaths(JSON.parse(json), `${name}${column === "state" ? "(state)" : ""}`, paths);
        }
      }
    }
    return [...paths].sort();
  } finally {
    db.close();
  }
}

/** Tables and indexes as the engine has them. */
export function sqliteTables(file: string): readonly unknown[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();
  } finally {
    db.close();
  }
}

export async function postgresTables(url: string, schema: string): Promise<readonly unknown[]> {
  const columns = await query(
    url,
    `SELECT table_name, column_name, data_type, is_nullable, is_identity, collation_name FROM information_schema.columns
     WHERE table_schema = $1 ORDER BY table_name, column_name`,
    [schema],
  );
  const indexes = await query(url, "SELECT replace(indexdef, $1 || '.', '') AS made FROM pg_indexes WHERE schemaname = $1 ORDER BY 1", [
    schema,
  ]);
  return [...columns, ...indexes];
}

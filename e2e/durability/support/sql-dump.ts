import pg from "pg";
import { query } from "./databases.ts";

// A PostgreSQL schema as text: the statements that made its tables, and its rows. Unqualified names, so that it fits any schema.

export interface Recording {
  readonly pool: pg.Pool;
  /** Statements that made something, as they were sent. */
  readonly made: readonly string[];
}

/** A pool that remembers what tables a store makes. */
export function recordingPool(url: string): Recording {
  const made: string[] = [];
  class RecordingClient extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      const send = this.query.bind(this);
      Object.defineProperty(this, "query", {
        value: (first: unknown, ...rest: readonly unknown[]) => {
          if (
            typeof first === "string" &&
            /^\s*(CREATE (UNIQUE )?(TABLE|INDEX|FUNCTION)|ALTER TABLE|DROP INDEX|INSERT INTO \S+awaken_version|UPDATE \S+awaken_version)/.test(
              first,
            )
          )
            made.push(first);
          return Reflect.apply(send, this, [first, ...rest]);
        },
      });
    }
  }
  const pool = new pg.Pool({ connectionString: url, Client: RecordingClient });
  // The server may stop before the last connection has closed.
  pool.on("error", () => {});
  return { pool, made };
}

const text = (value: unknown): string => String(value);

/** A function is called by sessions that do not look for its tables where it was loaded. */
const withPath = (statement: string): string =>
  /^\s*CREATE FUNCTION/.test(statement) ? `${statement} SET search_path FROM CURRENT` : statement;

async function dumpTable(url: string, schema: string, table: string): Promise<readonly string[]> {
  const columns = await query(
    url,
    "SELECT column_name, is_identity FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 AND is_generated = 'NEVER' ORDER BY ordinal_position",
    [schema, table],
  );
  const names = columns.map((column) => text(column["column_name"]));
  const rows = await query(url, `SELECT ${names.map((name) => `${name}::text`).join(", ")} FROM ${schema}.${table} ORDER BY ctid`);
  const inserts = rows.map((row) => {
    const values = names.map((name) => (row[name] === null ? "NULL" : pg.escapeLiteral(text(row[name]))));
    return `INSERT INTO ${table} (${names.join(", ")}) OVERRIDING SYSTEM VALUE VALUES (${values.join(", ")});`;
  });
  const identity = columns.find((column) => column["is_identity"] === "YES");
  if (identity === undefined || rows.length === 0) return inserts;
  const name = text(identity["column_name"]);
  return [...inserts, `SELECT setval(pg_get_serial_sequence('${table}', '${name}'), (SELECT max(${name}) FROM ${table}));`];
}

export async function dumpSchema(url: string, schema: string, made: readonly string[]): Promise<string> {
  const unqualified = made.map((statement) => `${withPath(statement).replaceAll(`${schema}.`, "").trim().replace(/;$/, "")};`);
  const tables = await query(
    url,
    "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename <> 'awaken_version' ORDER BY tablename",
    [schema],
  );
  const rows: string[] = [];
  for (const { tablename } of tables) rows.push(...(await dumpTable(url, schema, text(tablename))));
  return `${[...unqualified, ...rows].join("\n")}\n`;
}

export async function loadSchema(url: string, schema: string, dump: string): Promise<void> {
  await query(url, `CREATE SCHEMA ${schema}; SET search_path TO ${schema}; ${dump}`);
}

import { DatabaseSync } from "node:sqlite";
import pg from "pg";

// The physical limit: transactions of plain INSERTs into one table, with nothing read and nothing checked.

export interface Bare {
  /** One transaction. `worker` says which connection, where there are several. */
  insert(rows: readonly (readonly [string, string])[], worker: number): Promise<void> | void;
  close(): Promise<void> | void;
}

export function openBareSqlite(file: string, synchronous: "full" | "normal"): Bare {
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; CREATE TABLE bare (id TEXT PRIMARY KEY, body TEXT NOT NULL)`);
  const insert = db.prepare("INSERT INTO bare (id, body) VALUES (?, ?)");
  const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];
  return {
    insert(rows) {
      begin.run();
      for (const [id, body] of rows) insert.run(id, body);
      commit.run();
    },
    close: () => db.close(),
  };
}

/** One row is a statement of its own; more are BEGIN, one INSERT, COMMIT. */
export async function openBarePostgres(url: string, connections: number): Promise<Bare> {
  const clients = Array.from({ length: connections }, () => new pg.Client(url));
  await Promise.all(clients.map((client) => client.connect()));
  await clients[0]?.query("DROP TABLE IF EXISTS bare; CREATE TABLE bare (id text PRIMARY KEY, body json NOT NULL)");
  const one = { name: "bare1", text: "INSERT INTO bare (id, body) VALUES ($1, $2)" };
  const many = { name: "bare", text: "INSERT INTO bare (id, body) SELECT * FROM unnest($1::text[], $2::json[])" };
  return {
    async insert(rows, worker) {
      const client = clients[worker % connections];
      const [first] = rows;
      if (rows.length === 1 && first !== undefined) {
        await client?.query({ ...one, values: [...first] });
        return;
      }
      await client?.query("BEGIN");
      await client?.query({ ...many, values: [rows.map(([id]) => id), rows.map(([, body]) => body)] });
      await client?.query("COMMIT");
    },
    async close() {
      await Promise.all(clients.map((client) => client.end()));
    },
  };
}

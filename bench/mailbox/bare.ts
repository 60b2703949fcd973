import { DatabaseSync } from "node:sqlite";
import pg from "pg";

// The floor: claim one row, then one transaction that marks it done and inserts an event. Jobs per second.

const perSecond = (jobs: number, start: number): number => jobs / ((performance.now() - start) / 1_000);

export async function barePostgres(url: string, jobs: number, connections = 8): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  await pool.query(`
    DROP TABLE IF EXISTS bare_queue, bare_event;
    CREATE TABLE bare_queue (id bigserial PRIMARY KEY, status text NOT NULL DEFAULT 'queued', payload jsonb);
    CREATE TABLE bare_event (id bigserial PRIMARY KEY, job bigint, payload jsonb);
    CREATE INDEX bare_due ON bare_queue (id) WHERE status = 'queued'`);
  await pool.query(`INSERT INTO bare_queue (payload) SELECT '{"text":"hello"}' FROM generate_series(1, $1)`, [jobs]);
  const start = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = await pool.connect();
      for (;;) {
        const { rows } = await client.query<{ id: string }>(
          "UPDATE bare_queue SET status = 'claimed' WHERE id = (SELECT id FROM bare_queue WHERE status = 'queued' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id",
        );
        const [row] = rows;
        if (row === undefined) break;
        const done = `WITH done AS (UPDATE bare_queue SET status = 'done' WHERE id = $1) INSERT INTO bare_event (job, payload) VALUES ($1, '{"type":"run-end"}')`;
        await client.query(done, [row.id]);
      }
      client.release();
    }),
  );
  const rate = perSecond(jobs, start);
  await pool.end();
  return rate;
}

export function bareSqlite(file: string, jobs: number): number {
  const db = new DatabaseSync(file);
  db.exec(`
    PRAGMA journal_mode = WAL; PRAGMA synchronous = full;
    DROP TABLE IF EXISTS bare_queue; DROP TABLE IF EXISTS bare_event;
    CREATE TABLE bare_queue (id INTEGER PRIMARY KEY, status TEXT NOT NULL DEFAULT 'queued', payload TEXT);
    CREATE TABLE bare_event (id INTEGER PRIMARY KEY, job INTEGER, payload TEXT);
    CREATE INDEX bare_due ON bare_queue (id) WHERE status = 'queued'; BEGIN`);
  const insert = db.prepare(`INSERT INTO bare_queue (payload) VALUES ('{"text":"hello"}')`);
  for (let job = 0; job < jobs; job++) insert.run();
  db.exec("COMMIT");
  const claim = db.prepare(
    "UPDATE bare_queue SET status = 'claimed' WHERE id = (SELECT id FROM bare_queue WHERE status = 'queued' ORDER BY id LIMIT 1) RETURNING id",
  );
  const finish = db.prepare("UPDATE bare_queue SET status = 'done' WHERE id = ?");
  const note = db.prepare(`INSERT INTO bare_event (job, payload) VALUES (?, '{"type":"run-end"}')`);
  const start = performance.now();
  for (let row = claim.get(); row !== undefined; row = claim.get()) {
    const id = Number(row["id"]);
    db.exec("BEGIN IMMEDIATE");
    finish.run(id);
    note.run(id);
    db.exec("COMMIT");
  }
  const rate = perSecond(jobs, start);
  db.close();
  return rate;
}

import type { ScopeId } from "@awaken/contract";
import { EVENT_COLUMNS } from "../sql/event-rows.ts";
import { numberOf, type Row, textIn } from "../sql/rows.ts";
import type { Connection } from "./database.ts";

// The log of a run is read through the logs of its threads: stretches of it, of which only the first rows are in an index. What has no thread
// is a stretch of its own.

const OF_RUN = "scope_id = ?1 AND run_id = ?2 AND begins = 1";

/** The stretch that this number would be in; `next` is where another one begins in the same thread. */
const SELECT_STRETCH = `SELECT rowid AS id, thread_id, thread_seq, run_seq,
  (SELECT n.thread_seq FROM event n WHERE n.scope_id = ?1 AND n.thread_id = s.thread_id AND n.begins = 1 AND n.thread_seq > s.thread_seq
   ORDER BY n.thread_seq LIMIT 1) AS next
  FROM event s WHERE ${OF_RUN} AND run_seq <= ?3 ORDER BY run_seq DESC LIMIT 1`;

interface Stretch {
  readonly id: number;
  /** Undefined for a row without a thread. */
  readonly threadId: string | undefined;
  readonly threadSeq: number;
  readonly runSeq: number;
  readonly end: number;
}

function findStretch(db: Connection, scopeId: ScopeId, runId: string, seq: number): Stretch | undefined {
  const row = db.get(SELECT_STRETCH, scopeId, runId, seq);
  if (row === undefined) return undefined;
  const threadId = textIn(row, "thread_id");
  return {
    id: numberOf(row, "id"),
    threadId,
    threadSeq: threadId === undefined ? 0 : numberOf(row, "thread_seq"),
    runSeq: numberOf(row, "run_seq"),
    end: row["next"] === null ? Number.MAX_SAFE_INTEGER : numberOf(row, "next"),
  };
}

/** The first number of a stretch behind this one. */
export const nextStretch = (db: Connection, scopeId: ScopeId, runId: string, after: number): Row | undefined =>
  db.get(`SELECT run_seq AS seq FROM event WHERE ${OF_RUN} AND run_seq > ?3 ORDER BY run_seq LIMIT 1`, scopeId, runId, after);

const HEAD = "run_seq + count - 1 AS last_seq, created_at AS last_at, batch_id, count";

/** As `readHead` wants it. */
export function loadRunHead(db: Connection, scopeId: ScopeId, runId: string): Row | undefined {
  const stretch = findStretch(db, scopeId, runId, Number.MAX_SAFE_INTEGER);
  if (stretch === undefined) return undefined;
  const { id, threadId, end } = stretch;
  if (threadId === undefined) return db.get(`SELECT ${HEAD} FROM event WHERE rowid = ?`, id);
  const sql = `SELECT ${HEAD} FROM event WHERE scope_id = ? AND thread_id = ? AND thread_seq < ? ORDER BY thread_seq DESC LIMIT 1`;
  return db.get(sql, scopeId, threadId, end);
}

const ROW = `scope_id, ${EVENT_COLUMNS}`;
const SELECT_ROWS = `SELECT ${ROW} FROM event WHERE scope_id = ?1 AND thread_id = ?2 AND thread_seq < ?4 AND thread_seq >=
  (SELECT max(thread_seq) FROM event WHERE scope_id = ?1 AND thread_id = ?2 AND thread_seq <= ?3) ORDER BY thread_seq LIMIT ?5`;

/** The row of this number and those behind it, as far as the stretch goes; those before it may be among them. */
function rowsOf(db: Connection, scopeId: ScopeId, stretch: Stretch, from: number, limit: number): readonly Row[] {
  const { id, threadId, threadSeq, runSeq, end } = stretch;
  if (threadId === undefined) return db.all(`SELECT ${ROW} FROM event WHERE rowid = ?`, id);
  return db.all(SELECT_ROWS, scopeId, threadId, threadSeq + from - runSeq, end, limit);
}

const endOf = (row: Row): number => numberOf(row, "run_seq") + numberOf(row, "count");

interface Wanted {
  readonly from: number;
  readonly limit: number;
}

/** Rows of one stretch that hold number `from` or come behind it. */
function loadStretch(db: Connection, scopeId: ScopeId, runId: string, { from, limit }: Wanted): readonly Row[] {
  const stretch = findStretch(db, scopeId, runId, from);
  return stretch === undefined ? [] : rowsOf(db, scopeId, stretch, from, limit).filter((row) => endOf(row) > from);
}

/** Rows that hold number `from` or come behind it. What was deleted with its thread is left out. */
export function loadRunRows(db: Connection, scopeId: ScopeId, runId: string, { from, limit }: Wanted): readonly Row[] {
  const rows: Row[] = [];
  let at = from;
  while (rows.length < limit) {
    const found = loadStretch(db, scopeId, runId, { from: at, limit: limit - rows.length });
    rows.push(...found);
    const last = found.at(-1);
    if (last !== undefined) {
      at = endOf(last);
      continue;
    }
    const next = nextStretch(db, scopeId, runId, at);
    if (next === undefined) break;
    at = numberOf(next, "seq");
  }
  return rows;
}

import { isJsonObject, type RunId, type RunRecord, type ScopeId, type ThreadId } from "@awaken/contract";
import { clampLimit, type RunStore, runRecord } from "@awaken/contract/store";
import { afterRun, Conditions, runConditions } from "../sql/conditions.ts";
import { type LastWritten, lastingRun } from "../sql/last-written.ts";
import { jsonOf, numberOf, type Row, readFast, textIn, textOf, toPage } from "../sql/rows.ts";
import { countRuns, isLatest, MAX_RUNS_OF_TICKET, openTickets, RUN_COLUMNS, runPosition, runValues, ticketChange } from "../sql/run-row.ts";
import { readThread } from "../sql/thread-row.ts";
import type { Access } from "./access.ts";
import type { Connection, Tx } from "./database.ts";

/** What `readRunRow` needs. */
const RUN_ROW = "run_id, thread_id, ordinal, created_at, parent_run_id, root_run_id, record";

/** The JSON of a row leaves out what its columns say, but for what moves; in rows of older versions it is in both. */
function runText(run: RunRecord): string {
  const { runId: _id, threadId: _thread, ordinal: _ordinal, createdAt: _created, parentRunId: _parent, rootRunId: _root, ...record } = run;
  return JSON.stringify(record);
}

function readRunRow(row: Row): RunRecord {
  const id = textOf(row, "run_id");
  const [parentRunId, rootRunId] = [textIn(row, "parent_run_id"), textIn(row, "root_run_id")];
  const stored = jsonOf(row, "record");
  const own = {
    runId: id,
    threadId: textOf(row, "thread_id"),
    ordinal: numberOf(row, "ordinal"),
    createdAt: numberOf(row, "created_at"),
    ...(parentRunId === undefined ? undefined : { parentRunId }),
    ...(rootRunId === undefined ? undefined : { rootRunId }),
  };
  return readFast(runRecord, isJsonObject(stored) ? { ...stored, ...own } : stored, id);
}

const SELECT_RUN = `SELECT ${RUN_ROW} FROM run WHERE scope_id = ? AND run_id = ?`;
const INSERT_RUN = `INSERT INTO run (scope_id, ${RUN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The text says the same of two runs that differ in what only columns say. */
const isOf = ({ threadId, ordinal, createdAt }: RunRecord, row: Row): boolean =>
  threadId === row["thread_id"] && ordinal === row["ordinal"] && createdAt === row["created_at"];

export function loadRun(db: Connection, scopeId: ScopeId, id: RunId, written?: LastWritten<RunRecord>): RunRecord | undefined {
  const row = db.get(SELECT_RUN, scopeId, id);
  if (row === undefined) return undefined;
  const known = written?.find(scopeId, id, row["record"]);
  return known !== undefined && isOf(known, row) ? known : readRunRow(row);
}

/** The indexes over runs are left alone while the status stays. */
export function writeRun(tx: Tx, { scopeId, written }: Access, before: RunRecord | undefined, after: RunRecord): void {
  const { runId, status, updatedAt } = after;
  const text = runText(after);
  if (before === undefined) tx.run(INSERT_RUN, scopeId, ...runValues(after, text));
  else {
    if (before.status !== status) tx.run("UPDATE run SET status = ? WHERE scope_id = ? AND run_id = ?", status, scopeId, runId);
    tx.run("UPDATE run SET updated_at = ?, record = ? WHERE scope_id = ? AND run_id = ?", updatedAt, text, scopeId, runId);
  }
  written.runs.put(scopeId, runId, text, lastingRun(after));
  tx.known.runs.put(scopeId, runId, written.runs.find(scopeId, runId, text));
  const { added, removed } = ticketChange(before, after);
  for (const id of removed) tx.run("DELETE FROM run_ticket WHERE scope_id = ? AND ticket_id = ? AND run_id = ?", scopeId, id, runId);
  for (const id of added) tx.run("INSERT INTO run_ticket (scope_id, ticket_id, run_id) VALUES (?, ?, ?)", scopeId, id, runId);
}

function loadLatest(db: Connection, scopeId: ScopeId, threadId: ThreadId): RunRecord | undefined {
  const row = db.get("SELECT thread_id, record FROM thread WHERE scope_id = ? AND thread_id = ?", scopeId, threadId);
  const thread = row && readThread(row);
  const run = thread?.latestRun && loadRun(db, scopeId, thread.latestRun.id);
  if (thread === undefined || run === undefined || isLatest(run, thread)) return run;
  const sql = `SELECT ${RUN_ROW} FROM run WHERE scope_id = ? AND thread_id = ? ORDER BY updated_at DESC, ordinal DESC LIMIT 1`;
  const latest = db.get(sql, scopeId, threadId);
  return latest && readRunRow(latest);
}

export function runPort({ scopeId, session }: Access): RunStore {
  const inScope = () => new Conditions("?").add("scope_id = ?", scopeId);
  return {
    load: (id) => session.read((db) => loadRun(db, scopeId, id)),

    list: ({ after, limit, ...filter }) =>
      session.read((db) => {
        const where = afterRun(runConditions(inScope(), filter), after);
        const size = clampLimit(limit);
        const tail = where.bind("ORDER BY created_at, run_id LIMIT ?", size + 1);
        const rows = db.all(`SELECT ${RUN_ROW} FROM run ${where.where} ${tail}`, ...where.values);
        return toPage(rows.map(readRunRow), size, runPosition);
      }),

    count: (filter) =>
      session.read((db) => {
        const { where, values } = runConditions(inScope(), filter);
        return numberOf(db.get(`SELECT count(*) AS n FROM run ${where}`, ...values) ?? {}, "n");
      }),

    countByStatus: () =>
      session.read((db) => countRuns(db.all("SELECT status, count(*) AS n FROM run WHERE scope_id = ? GROUP BY status", scopeId))),

    loadLatest: (threadId) => session.snapshot((db) => loadLatest(db, scopeId, threadId)),

    listByTicket: (id) =>
      session.read((db) =>
        db
          .all(
            `SELECT ${RUN_ROW} FROM run WHERE scope_id = ?1
               AND run_id IN (SELECT run_id FROM run_ticket WHERE scope_id = ?1 AND ticket_id = ?2)
             ORDER BY status = 'waiting' DESC, created_at DESC, run_id DESC LIMIT ?3`,
            ...[scopeId, id, MAX_RUNS_OF_TICKET],
          )
          .map(readRunRow),
      ),

    listOpenTickets: (root) =>
      session.read((db) => {
        const sql = `SELECT ${RUN_ROW} FROM run WHERE scope_id = ?1 AND (run_id = ?2 OR root_run_id = ?2)
          AND status IN ('waiting', 'running')
          ORDER BY created_at, run_id`;
        return openTickets(db.all(sql, scopeId, root).map(readRunRow));
      }),
  };
}

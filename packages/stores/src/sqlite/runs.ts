import type { RunId, RunRecord, ScopeId, ThreadId } from "@awaken/contract";
import { clampLimit, type RunStore } from "@awaken/contract/store";
import { afterRun, Conditions, runConditions } from "../sql/conditions.ts";
import { type LastWritten, lastingRun } from "../sql/last-written.ts";
import { numberOf, toPage } from "../sql/rows.ts";
import {
  countRuns,
  isLatest,
  MAX_RUNS_OF_TICKET,
  openTickets,
  RUN_COLUMNS,
  readRun,
  runPosition,
  runValues,
  ticketChange,
} from "../sql/run-row.ts";
import { readThread } from "../sql/thread-row.ts";
import type { Access } from "./access.ts";
import type { Connection, Tx } from "./database.ts";

const SELECT_RUN = `SELECT run_id, record FROM run WHERE scope_id = ? AND run_id = ?`;
const INSERT_RUN = `INSERT INTO run (scope_id, ${RUN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function loadRun(db: Connection, scopeId: ScopeId, id: RunId, written?: LastWritten<RunRecord>): RunRecord | undefined {
  const row = db.get(SELECT_RUN, scopeId, id);
  if (row === undefined) return undefined;
  return written?.find(scopeId, id, row["record"]) ?? readRun(row);
}

/** The indexes over runs are left alone while the status stays. */
export function writeRun(tx: Tx, { scopeId, written }: Access, before: RunRecord | undefined, after: RunRecord): void {
  const { runId, status, updatedAt } = after;
  const values = runValues(after);
  const text = String(values.at(-1));
  if (before === undefined) tx.run(INSERT_RUN, scopeId, ...values);
  else {
    if (before.status !== status) tx.run("UPDATE run SET status = ? WHERE scope_id = ? AND run_id = ?", status, scopeId, runId);
    tx.run("UPDATE run SET updated_at = ?, record = ? WHERE scope_id = ? AND run_id = ?", updatedAt, text, scopeId, runId);
  }
  written.runs.put(scopeId, runId, text, lastingRun(after));
  const { added, removed } = ticketChange(before, after);
  for (const id of removed) tx.run("DELETE FROM run_ticket WHERE scope_id = ? AND ticket_id = ? AND run_id = ?", scopeId, id, runId);
  for (const id of added) tx.run("INSERT INTO run_ticket (scope_id, ticket_id, run_id) VALUES (?, ?, ?)", scopeId, id, runId);
}

function loadLatest(db: Connection, scopeId: ScopeId, threadId: ThreadId): RunRecord | undefined {
  const row = db.get("SELECT thread_id, record FROM thread WHERE scope_id = ? AND thread_id = ?", scopeId, threadId);
  const thread = row && readThread(row);
  const run = thread?.latestRun && loadRun(db, scopeId, thread.latestRun.id);
  if (thread === undefined || run === undefined || isLatest(run, thread)) return run;
  const sql = `SELECT run_id, record FROM run WHERE scope_id = ? AND thread_id = ? ORDER BY updated_at DESC, ordinal DESC LIMIT 1`;
  const latest = db.get(sql, scopeId, threadId);
  return latest && readRun(latest);
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
        const rows = db.all(`SELECT run_id, record FROM run ${where.where} ${tail}`, ...where.values);
        return toPage(rows.map(readRun), size, runPosition);
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
            `SELECT r.run_id, r.record FROM run_ticket t JOIN run r ON r.scope_id = t.scope_id AND r.run_id = t.run_id
             WHERE t.scope_id = ? AND t.ticket_id = ?
             ORDER BY r.status = 'waiting' DESC, r.created_at DESC, r.run_id DESC LIMIT ?`,
            ...[scopeId, id, MAX_RUNS_OF_TICKET],
          )
          .map(readRun),
      ),

    listOpenTickets: (root) =>
      session.read((db) => {
        const sql = `SELECT run_id, record FROM run WHERE scope_id = ?1 AND (run_id = ?2 OR root_run_id = ?2)
          AND status IN ('waiting', 'running')
          ORDER BY created_at, run_id`;
        return openTickets(db.all(sql, scopeId, root).map(readRun));
      }),
  };
}

import type { RunId, RunRecord, ScopeId, ThreadId } from "@awaken/contract";
import { clampLimit, type RunStore } from "@awaken/contract/store";
import { afterRun, Conditions, runConditions } from "../sql/conditions.ts";
import { lastingRun } from "../sql/last-written.ts";
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
import { insertRows, type Target } from "./insert-rows.ts";
import { type Statement, sql } from "./statement.ts";

const RUNS: Target = { table: "run", columns: RUN_COLUMNS, listed: new Map() };

export const selectRun = (scopeId: ScopeId, id: RunId): Statement =>
  sql("SELECT run_id, record FROM ~run WHERE scope_id = $1 AND run_id = $2", scopeId, id);

const UPDATE_RUN = "UPDATE ~run SET status = $3, updated_at = $4, record = $5 WHERE scope_id = $1 AND run_id = $2";
/** Gives a row if the run is as it was remembered. */
const UPDATE_KNOWN_RUN = `${UPDATE_RUN} AND updated_at = $6 AND status = $7 RETURNING 1`;

/** With `isKnown`, the row of a run is written, as `known_run`, if it is still the one of before. */
export function writeRun(
  { scopeId, written }: Access,
  before: RunRecord | undefined,
  after: RunRecord,
  isKnown = false,
): readonly Statement[] {
  const { runId, status, updatedAt } = after;
  const values = runValues(after);
  const text = String(values.at(-1));
  written.runs.put(scopeId, runId, text, lastingRun(after));
  const { added, removed } = ticketChange(before, after);
  const update = (known: RunRecord): Statement =>
    isKnown
      ? { ...sql(UPDATE_KNOWN_RUN, scopeId, runId, status, updatedAt, text, known.updatedAt, known.status), name: "known_run" }
      : sql(UPDATE_RUN, scopeId, runId, status, updatedAt, text);
  const tickets = { table: "run_ticket", columns: "ticket_id, run_id" };
  const remove = "DELETE FROM ~run_ticket WHERE scope_id = $1 AND run_id = $2 AND ticket_id = ANY ($3::text[])";
  return [
    ...(before === undefined ? insertRows(scopeId, RUNS, [values]) : [update(before)]),
    ...(removed.length === 0 ? [] : [sql(remove, scopeId, runId, removed)]),
    ...insertRows(
      scopeId,
      tickets,
      added.map((id) => [id, runId]),
    ),
  ];
}

/** The run that the thread points at. */
const selectPointed = (scopeId: ScopeId, threadId: ThreadId): Statement =>
  sql(
    `SELECT r.run_id, r.record, t.thread_id, t.record AS thread FROM ~thread t
     JOIN ~run r ON r.scope_id = t.scope_id AND r.run_id = t.latest_run_id
     WHERE t.scope_id = $1 AND t.thread_id = $2`,
    ...[scopeId, threadId],
  );

const selectNewest = (scopeId: ScopeId, threadId: ThreadId): Statement =>
  sql(
    "SELECT run_id, record FROM ~run WHERE scope_id = $1 AND thread_id = $2 ORDER BY updated_at DESC, ordinal DESC LIMIT 1",
    ...[scopeId, threadId],
  );

export function runPort({ scopeId, session }: Access): RunStore {
  const inScope = () => new Conditions("$").add("scope_id = ?", scopeId);
  const loadOne = async (statement: Statement) => (await session.read(statement)).map(readRun)[0];
  return {
    load: (id) => loadOne(selectRun(scopeId, id)),

    async list({ after, limit, ...filter }) {
      const where = afterRun(runConditions(inScope(), filter), after);
      const size = clampLimit(limit);
      const tail = where.bind("ORDER BY created_at, run_id LIMIT ?", size + 1);
      const rows = await session.read(sql(`SELECT run_id, record FROM ~run ${where.where} ${tail}`, ...where.values));
      return toPage(rows.map(readRun), size, runPosition);
    },

    async count(filter) {
      const { where, values } = runConditions(inScope(), filter);
      const [row] = await session.read(sql(`SELECT count(*) AS n FROM ~run ${where}`, ...values));
      return numberOf(row ?? {}, "n");
    },

    countByStatus: async () =>
      countRuns(await session.read(sql("SELECT status, count(*) AS n FROM ~run WHERE scope_id = $1 GROUP BY status", scopeId))),

    async loadLatest(threadId) {
      const [row] = await session.read(selectPointed(scopeId, threadId));
      if (row === undefined) return undefined;
      const run = readRun(row);
      const isNewest = isLatest(run, readThread({ ...row, record: row["thread"] }));
      return isNewest ? run : loadOne(selectNewest(scopeId, threadId));
    },

    async listByTicket(id) {
      const text = `SELECT r.run_id, r.record FROM ~run_ticket t JOIN ~run r ON r.scope_id = t.scope_id AND r.run_id = t.run_id
        WHERE t.scope_id = $1 AND t.ticket_id = $2
        ORDER BY r.status = 'waiting' DESC, r.created_at DESC, r.run_id DESC LIMIT ${MAX_RUNS_OF_TICKET}`;
      return (await session.read(sql(text, scopeId, id))).map(readRun);
    },

    async listOpenTickets(root) {
      const text = `SELECT run_id, record FROM ~run WHERE scope_id = $1 AND (run_id = $2 OR root_run_id = $2)
        AND status IN ('waiting', 'running')
        ORDER BY created_at, run_id`;
      return openTickets((await session.read(sql(text, scopeId, root))).map(readRun));
    },
  };
}

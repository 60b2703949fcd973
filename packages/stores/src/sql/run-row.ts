import { openTicketsOf, type RunId, type RunProjection, type RunRecord, type RunStatus, type Ticket, ticketIdsOf } from "@awaken/contract";
import { type DispatchStatus, type RunPosition, runRecord, type ThreadHead, type ThreadRecord } from "@awaken/contract/store";
import type { Values } from "./columns.ts";
import { jsonOf, numberOf, type Row, readFast, textOf } from "./rows.ts";

export const RUN_COLUMNS = "run_id, thread_id, ordinal, status, created_at, updated_at, parent_run_id, root_run_id, record";

export function runValues(run: RunRecord, text = JSON.stringify(run)): Values {
  const { runId, threadId, ordinal, status, createdAt, updatedAt, parentRunId = null, rootRunId = null } = run;
  return [runId, threadId, ordinal, status, createdAt, updatedAt, parentRunId, rootRunId, text];
}

export const readRun = (row: Row): RunRecord => readFast(runRecord, jsonOf(row, "record"), textOf(row, "run_id"));

/** A run that the head of its thread has already. */
export const runIn = (head: ThreadHead | undefined, id: RunId): RunRecord | undefined =>
  [head?.latestRun, head?.openRun].find((run) => run?.runId === id);

export const runPosition = ({ createdAt, runId }: RunRecord): RunPosition => ({ createdAt, runId });

/** A ticket id that vendors repeat may name many runs. */
export const MAX_RUNS_OF_TICKET = 10;

const NO_TICKETS: ReadonlySet<string> = new Set();

const ticketsOf = (run: RunProjection | undefined): ReadonlySet<string> => (run === undefined ? NO_TICKETS : ticketIdsOf(run));

export const openTickets = (runs: readonly RunRecord[]): readonly Ticket[] => runs.flatMap(openTicketsOf);

/** How the index over tickets follows a run. */
export function ticketChange(before: RunRecord | undefined, after: RunRecord) {
  const [old, now] = [ticketsOf(before), ticketsOf(after)];
  return { added: [...now].filter((id) => !old.has(id)), removed: [...old].filter((id) => !now.has(id)) };
}

/** The run that the thread points at, unless a clock that went back has put it behind another one. */
export const isLatest = (run: RunRecord, { latestRun }: ThreadRecord): boolean => run.updatedAt === latestRun?.updatedAt;

export function countRuns(rows: readonly Row[]): Record<RunStatus, number> {
  return { created: 0, running: 0, waiting: 0, done: 0, ...countsOf(rows) };
}

export function countDispatches(rows: readonly Row[]): Record<DispatchStatus, number> {
  return { queued: 0, claimed: 0, acked: 0, cancelled: 0, superseded: 0, "dead-letter": 0, ...countsOf(rows) };
}

/** Rows of `status` and `n`. */
const countsOf = (rows: readonly Row[]) => Object.fromEntries(rows.map((row) => [textOf(row, "status"), numberOf(row, "n")]));

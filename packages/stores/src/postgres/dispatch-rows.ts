import { type DispatchId, isJsonObject, perObject, type ScopeId, type ThreadId } from "@awaken/contract";
import { type DispatchRecord, dispatchRecord, isDispatchOver, type NewDispatch, type QueuedDispatch } from "@awaken/contract/store";
import type { QueueReads } from "../plan/dispatch-plan.ts";
import { DISPATCH_COLUMNS, dispatchRow, readLastOpen } from "../sql/columns.ts";
import { jsonOf, numberOf, type Row, textOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import type { Finish } from "./attempt.ts";
import type { Parameter } from "./driver.ts";
import { isOutOfTime } from "./errors.ts";
import { insertRows, type Target } from "./insert-rows.ts";
import { lockThread } from "./locks.ts";
import { type Statement, sql } from "./statement.ts";

/** Made once: a commit compares the row with what the claim, or the commit before, has written. */
const valuesOf = perObject((dispatch: DispatchRecord) => dispatchRow(dispatch));

export const readDispatch = (row: Row): DispatchRecord => dispatchRecord.read(jsonOf(row, "record"), textOf(row, "dispatch_id"));

export const selectDispatch = (scopeId: ScopeId, id: DispatchId): Statement =>
  sql("SELECT dispatch_id, record FROM ~dispatch WHERE scope_id = $1 AND dispatch_id = $2", scopeId, id);

/** Nobody reclaims the row while a commit or a move relies on it. */
export const lockDispatch = (scopeId: ScopeId, id: DispatchId): Statement => {
  const { text, values } = selectDispatch(scopeId, id);
  return { text: `${text} FOR UPDATE`, values };
};

export const selectEpoch = (scopeId: ScopeId, threadId: ThreadId): Statement =>
  sql("SELECT epoch FROM ~thread_epoch WHERE scope_id = $1 AND thread_id = $2", scopeId, threadId);

export const readEpoch = ([row]: readonly Row[]): number => (row === undefined || row["epoch"] === null ? 0 : numberOf(row, "epoch"));

/** What may be added to a queue: its id, and the keys that it must be alone with. */
export interface Newcomer {
  readonly dispatchId?: DispatchId;
  readonly keys: readonly string[];
  /** It stands in no line. */
  readonly isClaimed?: boolean;
}

const OF_THREAD = "FROM ~dispatch WHERE scope_id = $1 AND thread_id = $2";
const LAST_FIRST = "ORDER BY created_at DESC, dispatch_id DESC LIMIT 1";
/** What a new one stands behind. Each of both is found by an index, however much of the thread is over. */
const NEWEST = `(SELECT row_to_json(open) FROM (
    (SELECT created_at, dispatch_id, available_at ${OF_THREAD} AND status = 'queued' ${LAST_FIRST})
    UNION ALL SELECT created_at, dispatch_id, available_at ${OF_THREAD} AND status = 'claimed'
  ) AS open ${LAST_FIRST})`;

/** What a queue knows when something is to be added to it. */
export const selectQueueState = (scopeId: ScopeId, threadId: ThreadId, { dispatchId, keys, isClaimed }: Newcomer): Statement =>
  sql(
    `SELECT ${isClaimed === true ? "" : `${NEWEST} AS newest,`}
        (SELECT epoch FROM ~thread_epoch WHERE scope_id = $1 AND thread_id = $2) AS epoch,
       EXISTS (SELECT 1 FROM ~dispatch WHERE scope_id = $1 AND dispatch_id = $3) AS is_known,
       (SELECT json_object_agg(dedupe_key, dispatch_id) FROM ~dispatch WHERE scope_id = $1 AND thread_id = $2
         AND dedupe_key = ANY ($4::text[]) AND dedupe_key IS NOT NULL AND status IN ('queued', 'claimed')) AS holders,
       EXISTS (SELECT 1 FROM ~dispatch WHERE scope_id = $1 AND thread_id = $2 AND status = 'claimed') AS has_claim,
       EXISTS (SELECT 1 FROM ~dispatch WHERE scope_id = $1 AND thread_id = $2 AND status = 'queued') AS has_queued`,
    ...[scopeId, threadId, dispatchId ?? null, keys],
  );

export const newcomer = ({ dispatchId, dedupeKey }: NewDispatch, isClaimed = false): Newcomer => ({
  dispatchId,
  isClaimed,
  keys: dedupeKey === undefined ? [] : [dedupeKey],
});

export function readQueueState(rows: readonly Row[]): QueueReads {
  const [row = {}] = rows;
  return {
    epoch: () => (row["epoch"] === null || row["epoch"] === undefined ? 0 : numberOf(row, "epoch")),
    isKnown: () => row["is_known"] === true,
    holder: (key) => {
      const { holders } = row;
      return isJsonObject(holders) && typeof holders[key] === "string" ? holders[key] : undefined;
    },
    hasClaim: () => row["has_claim"] === true,
    hasQueued: () => row["has_queued"] === true,
    newest: () => (isJsonObject(row["newest"]) ? readLastOpen(row["newest"]) : undefined),
  };
}

/** Open rows of the thread by `compareDispatches`, each with the epoch of the thread, if it has one. */
export const selectOpen = (scopeId: ScopeId, threadId: ThreadId): Statement =>
  sql(
    `SELECT dispatch_id, record, (SELECT e.epoch FROM ~thread_epoch e WHERE e.scope_id = $1 AND e.thread_id = $2) AS epoch FROM ~dispatch WHERE scope_id = $1 AND thread_id = $2 AND status IN ('queued', 'claimed')
     ORDER BY priority, created_at, dispatch_id FOR UPDATE`,
    ...[scopeId, threadId],
  );

export const queuedIn = (dispatches: readonly DispatchRecord[]): readonly QueuedDispatch[] =>
  dispatches.flatMap((dispatch) => (dispatch.status === "queued" ? [dispatch] : []));

const ON_CONFLICT = `ON CONFLICT (scope_id, dispatch_id) DO UPDATE SET
  status = excluded.status, available_at = excluded.available_at, lease_until = excluded.lease_until,
  updated_at = excluded.updated_at, record = excluded.record`;

const MOVE = `UPDATE ~dispatch SET status = $3, available_at = $4, lease_until = $5, updated_at = $6, record = $7
  WHERE scope_id = $1 AND dispatch_id = $2`;
const MOVE_KNOWN = `${MOVE} AND record::text = $8 RETURNING 1`;

/** Rows that exist: mostly one, which needs no arrays. */
export function moveDispatches(scopeId: ScopeId, dispatches: readonly DispatchRecord[]): readonly Statement[] {
  const [first, ...others] = dispatches;
  if (first !== undefined && others.length === 0) return [sql(MOVE, ...movedValues(scopeId, first))];
  const target = { table: "dispatch", columns: DISPATCH_COLUMNS, onConflict: ON_CONFLICT };
  return insertRows(scopeId, target, dispatches.map(valuesOf));
}

function movedValues(scopeId: ScopeId, dispatch: DispatchRecord): readonly Parameter[] {
  const [id = null, , status = null, , , , availableAt = null, leaseUntil = null, , updatedAt = null, text = null] = valuesOf(dispatch);
  return [scopeId, id, status, availableAt, leaseUntil, updatedAt, text];
}

/** As `known_dispatch`, if it is still the one of before. */
export const moveKnownDispatch = (scopeId: ScopeId, before: DispatchRecord, after: DispatchRecord): Statement =>
  moveSeenDispatch(scopeId, dispatchText(before), after);

const moveSeenDispatch = (scopeId: ScopeId, text: Parameter, after: DispatchRecord): Statement => ({
  ...sql(MOVE_KNOWN, ...movedValues(scopeId, after), text),
  name: "known_dispatch",
});

/** A dispatch as somebody saw it who held nothing. */
export interface SeenDispatch {
  readonly dispatch: DispatchRecord;
  /** What its row has. */
  readonly text: string;
  /** Of its thread. */
  readonly epoch: number;
}

export const seeDispatch = (scopeId: ScopeId, id: DispatchId): Statement =>
  sql(
    `SELECT d.dispatch_id, d.record::text AS record,
       (SELECT e.epoch FROM ~thread_epoch e WHERE e.scope_id = d.scope_id AND e.thread_id = d.thread_id) AS epoch
     FROM ~dispatch d WHERE d.scope_id = $1 AND d.dispatch_id = $2`,
    ...[scopeId, id],
  );

export const readSeen = (row: Row): SeenDispatch => ({
  dispatch: readDispatch(row),
  text: textOf(row, "record"),
  epoch: readEpoch([row]),
});

/** In one trip: waits for the thread, then writes if the dispatch and its epoch are as they were seen; else all of it fails. */
function moveSeen({ scopeId, merger }: Access, { dispatch, text, epoch }: SeenDispatch, after: DispatchRecord): readonly Statement[] {
  const guard = `SELECT CASE WHEN EXISTS (SELECT 1 FROM known_dispatch)
    AND coalesce((SELECT epoch FROM ~thread_epoch WHERE scope_id = $1 AND thread_id = $2), 0) = $3 THEN 1 ELSE ~refuse() END`;
  return [
    lockThread(scopeId, dispatch.threadId),
    ...merger.together([moveSeenDispatch(scopeId, text, after), sql(guard, scopeId, dispatch.threadId, epoch)]),
  ];
}

/** The row as `known_dispatch`, if it is still this one; nobody takes it back until the end of the transaction. */
export const lockKnownDispatch = (scopeId: ScopeId, known: DispatchRecord): Statement => ({
  ...sql(
    "SELECT 1 FROM ~dispatch WHERE scope_id = $1 AND dispatch_id = $2 AND record::text = $3 FOR UPDATE",
    ...[scopeId, known.dispatchId, dispatchText(known)],
  ),
  name: "known_dispatch",
});

const dispatchText = (dispatch: DispatchRecord) => valuesOf(dispatch).at(-1) ?? null;

const DISPATCHES: Target = { table: "dispatch", columns: DISPATCH_COLUMNS, listed: new Map() };

/** A new row: of two with one id, one is refused. */
export const insertDispatch = (scopeId: ScopeId, dispatch: DispatchRecord): readonly Statement[] =>
  insertRows(scopeId, DISPATCHES, [valuesOf(dispatch)]);

/** Who waits for work hears of it when it is durable, and who waits for a run when what was queued for it is over. */
export function tellDispatches({ scopeId, wire }: Pick<Access, "scopeId" | "wire">, dispatches: readonly DispatchRecord[]): () => void {
  return () => {
    for (const { threadId } of queuedIn(dispatches)) wire.hint({ type: "enqueued", scopeId, threadId });
    for (const dispatch of dispatches) if (isDispatchOver(dispatch)) wire.ring(scopeId, { type: "run", id: dispatch.runId });
  };
}

/** Writes rows that exist. */
export const finishMoves = <T>(access: Access, rows: readonly DispatchRecord[], result: T): Finish<T> => ({
  writes: moveDispatches(access.scopeId, rows),
  result,
  tell: tellMoves(access, rows),
});

function tellMoves(access: Access, rows: readonly DispatchRecord[]): () => void {
  const tellOthers = tellDispatches(access, rows);
  return () => {
    for (const row of rows) access.known?.moved(access.scopeId, row);
    tellOthers();
  };
}

/** Writes a row that was seen; the work is done again, otherwise, when it has changed since. */
export const finishSeen = <T>(access: Access, seen: SeenDispatch, after: DispatchRecord, result: T): Finish<T> => ({
  writes: moveSeen(access, seen, after),
  result,
  tell: tellMoves(access, [after]),
  isWorthReading: (thrown) => !isOutOfTime(thrown),
});

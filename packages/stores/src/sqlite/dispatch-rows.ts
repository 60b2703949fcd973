import type { DispatchId, ScopeId, ThreadId } from "@awaken/contract";
import { type DispatchRecord, dispatchRecord, isDispatchOver, type LastOpen, type QueuedDispatch } from "@awaken/contract/store";
import type { QueueReads } from "../plan/dispatch-plan.ts";
import { DISPATCH_COLUMNS, dispatchRow, readLastOpen } from "../sql/columns.ts";
import { bellKey } from "../sql/event-log.ts";
import { jsonOf, numberOf, type Row, readRecord, textIn, textOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import type { Connection, Tx } from "./database.ts";

/** What `readDispatch` needs. */
export const DISPATCH_ROW = "dispatch_id, thread_id, status, priority, dedupe_key, epoch, available_at, created_at, updated_at, record";

/** The JSON of a row leaves out what its columns say; in rows of older versions it is in both. */
export function readDispatch(row: Row): DispatchRecord {
  const id = textOf(row, "dispatch_id");
  const dedupeKey = textIn(row, "dedupe_key");
  return readRecord(dispatchRecord, jsonOf(row, "record"), id, {
    dispatchId: id,
    threadId: textOf(row, "thread_id"),
    status: textOf(row, "status"),
    priority: numberOf(row, "priority"),
    ...(dedupeKey === undefined ? undefined : { dedupeKey }),
    epoch: numberOf(row, "epoch"),
    availableAt: numberOf(row, "available_at"),
    createdAt: numberOf(row, "created_at"),
    updatedAt: numberOf(row, "updated_at"),
  });
}

function dispatchText(dispatch: DispatchRecord): string {
  const { dispatchId: _id, threadId: _thread, status: _status, priority: _priority, dedupeKey: _key, ...rest } = dispatch;
  const { epoch: _epoch, availableAt: _available, createdAt: _created, updatedAt: _updated, ...record } = rest;
  return JSON.stringify(record);
}

export function loadDispatch(db: Connection, scopeId: ScopeId, id: DispatchId): DispatchRecord | undefined {
  const row = db.get(`SELECT ${DISPATCH_ROW} FROM dispatch WHERE scope_id = ? AND dispatch_id = ?`, scopeId, id);
  return row && readDispatch(row);
}

/** As `loadDispatch`, for one that may hold this thread. */
export function heldDispatch(tx: Tx, scopeId: ScopeId, threadId: ThreadId, id: DispatchId): DispatchRecord | undefined {
  const claim = tx.known.holders.find(scopeId, threadId)?.claim;
  if (claim?.dispatchId === id) return claim;
  const dispatch = loadDispatch(tx, scopeId, id);
  if (dispatch !== undefined) tx.known.moved(scopeId, dispatch);
  return dispatch;
}

export function loadEpoch(tx: Tx, scopeId: ScopeId, threadId: ThreadId): number {
  const known = tx.known.epochs.find(scopeId, threadId);
  if (known !== undefined) return known;
  const row = tx.get("SELECT epoch FROM thread_epoch WHERE scope_id = ? AND thread_id = ?", scopeId, threadId);
  const epoch = row === undefined ? 0 : numberOf(row, "epoch");
  tx.known.epochs.put(scopeId, threadId, epoch);
  return epoch;
}

const LAST_OPEN = "SELECT created_at, dispatch_id, available_at FROM dispatch WHERE scope_id = ?1 AND thread_id = ?2";
/** Exported for the test of its plan. */
export const SELECT_NEWEST = `SELECT * FROM (
    ${LAST_OPEN} AND status = 'queued' ORDER BY created_at DESC, dispatch_id DESC LIMIT 1)
  UNION ALL ${LAST_OPEN} AND status = 'claimed' ORDER BY created_at DESC, dispatch_id DESC LIMIT 1`;

function loadNewest(tx: Tx, scopeId: ScopeId, threadId: ThreadId): LastOpen | undefined {
  const row = tx.get(SELECT_NEWEST, scopeId, threadId);
  return row && readLastOpen(row);
}

export const queueReads = (tx: Tx, scopeId: ScopeId, threadId: ThreadId): QueueReads => ({
  epoch: () => loadEpoch(tx, scopeId, threadId),
  isKnown: (id) => tx.get("SELECT 1 FROM dispatch WHERE scope_id = ? AND dispatch_id = ?", scopeId, id) !== undefined,
  holder: (key) => {
    const sql = `SELECT dispatch_id FROM dispatch WHERE scope_id = ? AND thread_id = ? AND dedupe_key = ? AND dedupe_key IS NOT NULL
      AND status IN ('queued', 'claimed')`;
    const row = tx.get(sql, scopeId, threadId, key);
    return row && textOf(row, "dispatch_id");
  },
  hasClaim: () => hasClaim(tx, scopeId, threadId),
  hasQueued: () =>
    tx.get("SELECT 1 FROM dispatch WHERE scope_id = ? AND thread_id = ? AND status = 'queued' LIMIT 1", scopeId, threadId) !== undefined,
  newest: () => loadNewest(tx, scopeId, threadId),
});

export function hasClaim(db: Connection, scopeId: ScopeId, threadId: ThreadId): boolean {
  return db.get("SELECT 1 FROM dispatch WHERE scope_id = ? AND thread_id = ? AND status = 'claimed'", scopeId, threadId) !== undefined;
}

/** Queued rows of the thread by `compareDispatches`. */
export function loadQueued(db: Connection, scopeId: ScopeId, threadId: ThreadId): readonly QueuedDispatch[] {
  const sql = `SELECT ${DISPATCH_ROW} FROM dispatch WHERE scope_id = ? AND thread_id = ? AND status = 'queued'
    ORDER BY priority, created_at, dispatch_id`;
  return db.all(sql, scopeId, threadId).flatMap((row) => {
    const dispatch = readDispatch(row);
    return dispatch.status === "queued" ? [dispatch] : [];
  });
}

/** Who waits for work hears of it when it is durable, and who waits for the run that it was about, unless events tell him. */
export function writeDispatch<T extends DispatchRecord>(
  tx: Tx,
  { scopeId, channels }: Pick<Access, "scopeId" | "channels">,
  dispatch: T,
  hasEvents = false,
): T {
  const values = dispatchRow(dispatch, dispatchText);
  tx.run(
    `INSERT INTO dispatch (scope_id, ${DISPATCH_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (scope_id, dispatch_id) DO UPDATE SET
       status = excluded.status, available_at = excluded.available_at, lease_until = excluded.lease_until,
       updated_at = excluded.updated_at, record = excluded.record`,
    ...[scopeId, ...values],
  );
  tx.known.moved(scopeId, dispatch);
  const { status, threadId, runId } = dispatch;
  if (status === "queued") tx.afterCommit(() => channels.hints.send({ type: "enqueued", scopeId, threadId }));
  else if (!hasEvents && isDispatchOver(dispatch)) tx.afterCommit(() => channels.bells.ring(bellKey(scopeId, { type: "run", id: runId })));
  return dispatch;
}

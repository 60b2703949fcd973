import { AwakenError, type MessageId, type ScopeId, type ThreadId } from "@awaken/contract";
import {
  checkPendingRevision,
  clampLimit,
  editPending,
  type PendingRecord,
  type PendingStore,
  reorderPending,
  toQueue,
} from "@awaken/contract/store";
import { alreadyConsumed, type PendingPlan, planAppend } from "../plan/pending-plan.ts";
import { PENDING_COLUMNS, pendingKey, pendingRow, readPending } from "../sql/columns.ts";
import { numberOf } from "../sql/rows.ts";
import { readThreadIds } from "../sql/thread-row.ts";
import type { Access } from "./access.ts";
import { decode, writeBlobs } from "./blobs.ts";
import type { Connection, Tx } from "./database.ts";
import { loadCommitted } from "./messages.ts";

export function loadPending(db: Connection, scopeId: ScopeId, threadId: ThreadId): readonly PendingRecord[] {
  const sql = "SELECT thread_id, pending_id, record, parts FROM pending WHERE scope_id = ? AND thread_id = ? ORDER BY place";
  return db.all(sql, scopeId, threadId).map((row, index) => readPending(row, decode(db, scopeId, row, pendingKey(row)), index));
}

export interface PendingChange extends PendingPlan {
  readonly threadId: ThreadId;
}

export function writePending(tx: Tx, { scopeId, env }: Pick<Access, "scopeId" | "env">, { threadId, added, removed }: PendingChange): void {
  for (const id of removed) tx.run("DELETE FROM pending WHERE scope_id = ? AND thread_id = ? AND pending_id = ?", scopeId, threadId, id);
  if (added.length === 0) return;
  const last = tx.get("SELECT coalesce(max(place), 0) AS place FROM pending WHERE scope_id = ? AND thread_id = ?", scopeId, threadId);
  const place = numberOf(last ?? {}, "place");
  for (const [index, entry] of added.entries()) {
    const { values, blobs } = pendingRow(entry, place + index + 1, env.blobBytes);
    tx.run(`INSERT INTO pending (scope_id, ${PENDING_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`, scopeId, ...values);
    writeBlobs(tx, scopeId, threadId, blobs);
  }
}

/** The entry with its queue; `already_consumed` or `storage_not_found` without it. */
function findEntry(db: Connection, scopeId: ScopeId, threadId: ThreadId, id: MessageId): PendingRecord {
  const entry = loadPending(db, scopeId, threadId).find(({ pendingId }) => pendingId === id);
  if (entry !== undefined) return entry;
  if (loadCommitted(db, scopeId, threadId, [id]).size > 0) throw alreadyConsumed(id);
  throw new AwakenError("storage_not_found", `thread '${threadId}' has no pending message '${id}'`, {
    details: { threadId, pendingId: id },
  });
}

export function pendingPort(access: Access): PendingStore {
  const { scopeId, session, env } = access;
  const place = "WHERE scope_id = ? AND thread_id = ? AND pending_id = ?";
  return {
    append: (threadId, messages) =>
      session.write((tx) => {
        const queue = loadPending(tx, scopeId, threadId);
        const committed = (ids: readonly MessageId[]) => loadCommitted(tx, scopeId, threadId, ids);
        const added = planAppend({ threadId, messages, now: env.clock() }, queue, committed);
        writePending(tx, access, { threadId, added, removed: [] });
        return added;
      }),

    load: (threadId) => session.snapshot((db) => toQueue(loadPending(db, scopeId, threadId))),

    update: (threadId, id, edit) =>
      session.write((tx) => {
        const entry = editPending(findEntry(tx, scopeId, threadId, id), edit, env.clock());
        const { values, blobs } = pendingRow(entry, 0, env.blobBytes);
        const [text = null, parts = null] = values.slice(-2);
        tx.run(`UPDATE pending SET record = ?, parts = ? ${place}`, text, parts, scopeId, threadId, id);
        writeBlobs(tx, scopeId, threadId, blobs);
        return entry;
      }),

    retract: (threadId, id, revision) =>
      session.write((tx) => {
        checkPendingRevision(findEntry(tx, scopeId, threadId, id), revision);
        tx.run(`DELETE FROM pending ${place}`, scopeId, threadId, id);
      }),

    reorder: (threadId, order, revision) =>
      session.write((tx) => {
        const moved = reorderPending(loadPending(tx, scopeId, threadId), order, revision);
        for (const { pendingId, position } of moved) {
          tx.run(`UPDATE pending SET place = ? ${place}`, position, scopeId, threadId, pendingId);
        }
        return toQueue(moved);
      }),

    listUnattended: (limit, after = "") =>
      session.read((db) =>
        readThreadIds(
          db.all(
            `SELECT DISTINCT p.thread_id FROM pending p WHERE p.scope_id = ?1 AND p.thread_id > ?3
               AND NOT EXISTS (SELECT 1 FROM dispatch d
                 WHERE d.scope_id = ?1 AND d.thread_id = p.thread_id AND d.status IN ('queued', 'claimed'))
               AND NOT EXISTS (SELECT 1 FROM run r WHERE r.scope_id = ?1 AND r.thread_id = p.thread_id AND r.status = 'running')
             ORDER BY p.thread_id LIMIT ?2`,
            ...[scopeId, clampLimit(limit), after],
          ),
        ),
      ),
  };
}

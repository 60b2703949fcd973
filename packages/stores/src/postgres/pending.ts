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
import { numberOf, type Row } from "../sql/rows.ts";
import { readThreadIds } from "../sql/thread-row.ts";
import type { Access } from "./access.ts";
import type { Tx } from "./attempt.ts";
import { bodiesOf, decode, writeBlobs } from "./blobs.ts";
import { insertRows, type Target } from "./insert-rows.ts";
import { lockThread } from "./locks.ts";
import { readCommitted, selectCommitted } from "./messages.ts";
import { type Statement, sql } from "./statement.ts";

export const selectPending = (scopeId: ScopeId, threadId: ThreadId): Statement =>
  sql(
    `SELECT thread_id, pending_id, place, record, parts, ${bodiesOf("pending")} FROM ~pending
     WHERE scope_id = $1 AND thread_id = $2 ORDER BY place`,
    ...[scopeId, threadId],
  );

/** The queue, and the place of its last entry. */
export interface LoadedQueue {
  readonly entries: readonly PendingRecord[];
  readonly lastPlace: number;
}

export function readQueue(rows: readonly Row[]): LoadedQueue {
  const last = rows.at(-1);
  const entries = rows.map((row, index) => readPending(row, decode(row, pendingKey(row)), index));
  return { entries, lastPlace: last === undefined ? 0 : numberOf(last, "place") };
}

export interface PendingChange extends PendingPlan {
  readonly threadId: ThreadId;
  readonly lastPlace: number;
}

const PENDING: Target = { table: "pending", columns: PENDING_COLUMNS, listed: new Map() };
const PLACE = "WHERE scope_id = $1 AND thread_id = $2 AND pending_id = $3";

export function writePending({ scopeId, env }: Pick<Access, "scopeId" | "env">, change: PendingChange): readonly Statement[] {
  const { threadId, added, removed, lastPlace } = change;
  const rows = added.map((entry, index) => pendingRow(entry, lastPlace + index + 1, env.blobBytes));
  const remove = "DELETE FROM ~pending WHERE scope_id = $1 AND thread_id = $2 AND pending_id = ANY ($3::text[])";
  const blobs = rows.flatMap((row) => row.blobs);
  return [
    ...(removed.length === 0 ? [] : [sql(remove, scopeId, threadId, removed)]),
    ...insertRows(
      scopeId,
      PENDING,
      rows.map((row) => row.values),
    ),
    ...writeBlobs(scopeId, threadId, blobs),
  ];
}

/** The entry with the thread locked; `already_consumed` or `storage_not_found` without it. */
async function findEntry(tx: Tx, scopeId: ScopeId, threadId: ThreadId, id: MessageId): Promise<PendingRecord> {
  const [, rows = [], committed = []] = await tx.read(
    lockThread(scopeId, threadId),
    selectPending(scopeId, threadId),
    selectCommitted(scopeId, threadId, [id]),
  );
  const entry = readQueue(rows).entries.find(({ pendingId }) => pendingId === id);
  if (entry !== undefined) return entry;
  if (committed.length > 0) throw alreadyConsumed(id);
  throw new AwakenError("storage_not_found", `thread '${threadId}' has no pending message '${id}'`, {
    details: { threadId, pendingId: id },
  });
}

export function pendingPort(access: Access): PendingStore {
  return { ...edits(access), ...reads(access) };
}

function edits(access: Access): Pick<PendingStore, "append" | "update" | "retract" | "reorder"> {
  const { scopeId, session, env } = access;
  return {
    append: (threadId, messages) =>
      session.write(async (tx) => {
        const ids = messages.map(({ message }) => message.id);
        const [, rows = [], known = []] = await tx.read(
          lockThread(scopeId, threadId),
          selectPending(scopeId, threadId),
          selectCommitted(scopeId, threadId, ids),
        );
        const { entries, lastPlace } = readQueue(rows);
        const added = planAppend({ threadId, messages, now: env.clock() }, entries, () => readCommitted(known));
        return { writes: writePending(access, { threadId, added, removed: [], lastPlace }), result: added };
      }),

    update: (threadId, id, edit) =>
      session.write(async (tx) => {
        const entry = editPending(await findEntry(tx, scopeId, threadId, id), edit, env.clock());
        const { values, blobs } = pendingRow(entry, 0, env.blobBytes);
        const [text = null, parts = null] = values.slice(-2);
        const update = sql(`UPDATE ~pending SET record = $4, parts = $5 ${PLACE}`, scopeId, threadId, id, text, parts);
        return { writes: [update, ...writeBlobs(scopeId, threadId, blobs)], result: entry };
      }),

    retract: (threadId, id, revision) =>
      session.write(async (tx) => {
        checkPendingRevision(await findEntry(tx, scopeId, threadId, id), revision);
        return { writes: [sql(`DELETE FROM ~pending ${PLACE}`, scopeId, threadId, id)], result: undefined };
      }),

    reorder: (threadId, order, revision) =>
      session.write(async (tx) => {
        const [, rows = []] = await tx.read(lockThread(scopeId, threadId), selectPending(scopeId, threadId));
        const moved = reorderPending(readQueue(rows).entries, order, revision);
        const text = `UPDATE ~pending p SET place = o.place FROM unnest($3::text[]) WITH ORDINALITY AS o (pending_id, place)
          WHERE p.scope_id = $1 AND p.thread_id = $2 AND p.pending_id = o.pending_id`;
        const ids = moved.map((entry) => entry.pendingId);
        return { writes: [sql(text, scopeId, threadId, ids)], result: toQueue(moved) };
      }),
  };
}

function reads({ scopeId, session }: Access): Pick<PendingStore, "load" | "listUnattended"> {
  return {
    load: async (threadId) => toQueue(readQueue(await session.read(selectPending(scopeId, threadId))).entries),

    async listUnattended(limit, after = "") {
      const text = `SELECT DISTINCT p.thread_id FROM ~pending p WHERE p.scope_id = $1 AND p.thread_id > $3
          AND NOT EXISTS (SELECT 1 FROM ~dispatch d
            WHERE d.scope_id = $1 AND d.thread_id = p.thread_id AND d.status IN ('queued', 'claimed'))
          AND NOT EXISTS (SELECT 1 FROM ~run r WHERE r.scope_id = $1 AND r.thread_id = p.thread_id AND r.status = 'running')
        ORDER BY p.thread_id LIMIT $2`;
      return readThreadIds(await session.read(sql(text, scopeId, clampLimit(limit), after)));
    },
  };
}

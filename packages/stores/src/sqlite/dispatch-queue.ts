import { type ScopeId, threadId, scopeId as toScopeId } from "@awaken/contract";
import {
  clampLimit,
  type DispatchQueue,
  type DispatchRecord,
  expireDispatch,
  type ScopedDispatch,
  supersedeDispatch,
} from "@awaken/contract/store";
import { MAX_CLAIMS, toConsumers } from "../plan/consumers.ts";
import { entry } from "../ports.ts";
import type { Env } from "../sql/env.ts";
import type { Channels } from "../sql/listeners.ts";
import { numberOf, type Row, readable, textOf } from "../sql/rows.ts";
import { INTERRUPTED } from "../worker-moves.ts";
import type { Tx } from "./database.ts";
import { DISPATCH_ROW, loadEpoch, readDispatch, writeDispatch } from "./dispatch-rows.ts";
import type { Session } from "./session.ts";

/** Queued rows of threads that nobody holds. */
const WAITING = `FROM dispatch q WHERE q.status = 'queued' AND NOT EXISTS (
  SELECT 1 FROM dispatch c WHERE c.scope_id = q.scope_id AND c.thread_id = q.thread_id AND c.status = 'claimed')`;

const scopeOf = (row: Row): ScopeId => toScopeId(textOf(row, "scope_id"));

export interface QueueAccess {
  readonly session: Session;
  readonly env: Env;
  readonly channels: Channels;
}

/** What nobody comes to by himself. */
function leftBehind(session: Session): Pick<DispatchQueue, "listStranded" | "listAwaitingTasks" | "listUnended"> {
  return {
    listStranded: ({ after, limit }) =>
      session.read((db) =>
        db
          .all(
            `SELECT DISTINCT p.scope_id, p.thread_id FROM pending p WHERE (p.scope_id, p.thread_id) > (?, ?)
               AND NOT EXISTS (SELECT 1 FROM dispatch d
                 WHERE d.scope_id = p.scope_id AND d.thread_id = p.thread_id AND d.status IN ('queued', 'claimed'))
               AND NOT EXISTS (SELECT 1 FROM run r
                 WHERE r.scope_id = p.scope_id AND r.thread_id = p.thread_id AND r.status IN ('running', 'waiting'))
             ORDER BY p.scope_id, p.thread_id LIMIT ?`,
            ...[after?.scopeId ?? "", after?.threadId ?? "", clampLimit(limit)],
          )
          .map((row) => ({ scopeId: scopeOf(row), threadId: threadId(textOf(row, "thread_id")) })),
      ),

    listAwaitingTasks: ({ after, limit }) =>
      session.read((db) =>
        db
          .all(
            `SELECT DISTINCT r.scope_id, r.thread_id FROM run r
             WHERE r.status = 'waiting' AND instr(r.record, '"reason":"awaiting-tasks"') > 0 AND (r.scope_id, r.thread_id) > (?, ?)
               AND NOT EXISTS (SELECT 1 FROM dispatch d
                 WHERE d.scope_id = r.scope_id AND d.thread_id = r.thread_id AND d.status IN ('queued', 'claimed'))
             ORDER BY r.scope_id, r.thread_id LIMIT ?`,
            ...[after?.scopeId ?? "", after?.threadId ?? "", clampLimit(limit)],
          )
          .map((row) => ({ scopeId: scopeOf(row), threadId: threadId(textOf(row, "thread_id")) })),
      ),

    listUnended: (limit) =>
      session.read((db) =>
        db
          .all(
            `SELECT scope_id, ${DISPATCH_ROW} FROM dispatch AS d WHERE status = 'dead-letter' AND EXISTS (
               SELECT 1 FROM run r WHERE r.scope_id = d.scope_id AND r.run_id = json_extract(d.record, '$.runId') AND r.status <> 'done')
             ORDER BY scope_id, created_at, dispatch_id LIMIT ?`,
            clampLimit(limit),
          )
          .map((row) => ({ scopeId: scopeOf(row), dispatch: readDispatch(row) })),
      ),
  };
}

/** The queues of all tenants. */
export function dispatchQueue({ session, env, channels }: QueueAccess): DispatchQueue {
  return {
    ...leftBehind(session),
    listDue: (limit) =>
      session.read((db) =>
        db
          .all(
            `SELECT q.scope_id, q.thread_id, min(q.available_at) AS since ${WAITING} AND q.available_at <= ?
             GROUP BY q.scope_id, q.thread_id ORDER BY since LIMIT ?`,
            ...[env.clock(), clampLimit(limit)],
          )
          .map((row) => ({ scopeId: scopeOf(row), threadId: threadId(textOf(row, "thread_id")) })),
      ),

    nextDueInMs: () =>
      session.read((db) => {
        const row = db.get(`SELECT q.available_at ${WAITING} ORDER BY q.available_at LIMIT 1`);
        return row && Math.max(numberOf(row, "available_at") - env.clock(), 0);
      }),

    reclaimExpired: entry((limit, gone = []) =>
      session.write((tx) => {
        const sql = `SELECT scope_id, ${DISPATCH_ROW} FROM dispatch WHERE status = 'claimed'
          AND (lease_until < ? OR record ->> 'claimedBy' IN (SELECT value FROM json_each(?))) ORDER BY lease_until LIMIT ?`;
        const rows = tx.all(sql, env.clock(), JSON.stringify(gone), clampLimit(limit));
        const claims = readable(rows, (row) => ({ scopeId: scopeOf(row), claimed: readDispatch(row) }));
        return claims.flatMap((claim) => reclaim(tx, claim, { env, channels }) ?? []);
      }),
    ),

    listConsumers: () =>
      session.read((db) => {
        const sql = `SELECT ${DISPATCH_ROW} FROM dispatch WHERE status = 'claimed' ORDER BY lease_until LIMIT ?`;
        const held = readable(db.all(sql, MAX_CLAIMS), readDispatch);
        return toConsumers(
          held.flatMap((claimed) => (claimed.status === "claimed" ? [claimed] : [])),
          env.clock(),
        );
      }),

    listOver: ({ updatedSince = 0, limit }) =>
      session.read((db) =>
        db
          .all(
            `SELECT scope_id, ${DISPATCH_ROW} FROM dispatch WHERE status NOT IN ('queued', 'claimed') AND updated_at >= ?
             ORDER BY updated_at LIMIT ?`,
            ...[updatedSince, clampLimit(limit)],
          )
          .map((row) => ({ scopeId: scopeOf(row), dispatch: readDispatch(row) })),
      ),

    hints: ({ signal }) => channels.hints.listen([signal, env.closing], (hint) => hint),
  };
}

interface ScopedClaim {
  readonly scopeId: ScopeId;
  readonly claimed: DispatchRecord;
}

function reclaim(
  tx: Tx,
  { scopeId, claimed }: ScopedClaim,
  { env, channels }: Pick<QueueAccess, "env" | "channels">,
): ScopedDispatch | undefined {
  if (claimed.status !== "claimed") return undefined;
  const now = env.clock();
  if (claimed.epoch < loadEpoch(tx, scopeId, claimed.threadId)) {
    writeDispatch(tx, { scopeId, channels }, supersedeDispatch(claimed, INTERRUPTED, now));
    return undefined;
  }
  return { scopeId, dispatch: writeDispatch(tx, { scopeId, channels }, expireDispatch(claimed, now)) };
}

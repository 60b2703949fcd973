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
import { numberOf, type Row, readable, textOf } from "../sql/rows.ts";
import { INTERRUPTED } from "../worker-moves.ts";
import { moveDispatches, readDispatch, tellDispatches } from "./dispatch-rows.ts";
import { SERVER_TIME, type ServerClock } from "./server-clock.ts";
import type { Session } from "./session.ts";
import { sql } from "./statement.ts";
import type { Wire } from "./wire.ts";

/** Queued rows of threads that nobody holds. */
const WAITING = `FROM ~dispatch q WHERE q.status = 'queued' AND NOT EXISTS (
  SELECT 1 FROM ~dispatch c WHERE c.scope_id = q.scope_id AND c.thread_id = q.thread_id AND c.status = 'claimed')`;

const scopeOf = (row: Row): ScopeId => toScopeId(textOf(row, "scope_id"));

export interface QueueAccess {
  readonly session: Session;
  readonly env: Env;
  readonly clock: ServerClock;
  readonly wire: Wire;
}

/** What nobody comes to by himself. */
function leftBehind(session: Session): Pick<DispatchQueue, "listStranded" | "listAwaitingTasks" | "listUnended"> {
  return {
    async listStranded({ after, limit }) {
      const text = `SELECT DISTINCT p.scope_id, p.thread_id FROM ~pending p WHERE (p.scope_id, p.thread_id) > ($1, $2)
          AND NOT EXISTS (SELECT 1 FROM ~dispatch d
            WHERE d.scope_id = p.scope_id AND d.thread_id = p.thread_id AND d.status IN ('queued', 'claimed'))
          AND NOT EXISTS (SELECT 1 FROM ~run r
            WHERE r.scope_id = p.scope_id AND r.thread_id = p.thread_id AND r.status IN ('running', 'waiting'))
        ORDER BY p.scope_id, p.thread_id LIMIT $3`;
      const rows = await session.read(sql(text, after?.scopeId ?? "", after?.threadId ?? "", clampLimit(limit)));
      return rows.map((row) => ({ scopeId: scopeOf(row), threadId: threadId(textOf(row, "thread_id")) }));
    },

    async listAwaitingTasks({ after, limit }) {
      const text = `SELECT DISTINCT r.scope_id, r.thread_id FROM ~run r
          WHERE r.status = 'waiting' AND r.awaits_tasks AND (r.scope_id, r.thread_id) > ($1, $2)
          AND NOT EXISTS (SELECT 1 FROM ~dispatch d
            WHERE d.scope_id = r.scope_id AND d.thread_id = r.thread_id AND d.status IN ('queued', 'claimed'))
        ORDER BY r.scope_id, r.thread_id LIMIT $3`;
      const rows = await session.read(sql(text, after?.scopeId ?? "", after?.threadId ?? "", clampLimit(limit)));
      return rows.map((row) => ({ scopeId: scopeOf(row), threadId: threadId(textOf(row, "thread_id")) }));
    },

    async listUnended(limit) {
      const text = `SELECT d.scope_id, d.dispatch_id, d.record FROM ~dispatch d WHERE d.status = 'dead-letter'
          AND EXISTS (SELECT 1 FROM ~run r WHERE r.scope_id = d.scope_id AND r.run_id = d.record ->> 'runId' AND r.status <> 'done')
        ORDER BY d.scope_id, d.created_at, d.dispatch_id LIMIT $1`;
      const rows = await session.read(sql(text, clampLimit(limit)));
      return rows.map((row) => ({ scopeId: scopeOf(row), dispatch: readDispatch(row) }));
    },
  };
}

/** Rows for each thread that is asked for, before all that are due are looked at. */
const DUE_WINDOW = 2;

/** Walks along the rows that are due, oldest first, so that what waits behind them costs nothing. */
export const SELECT_DUE = `SELECT scope_id, thread_id, min(available_at) AS since, count(*) AS count
  FROM (SELECT q.scope_id, q.thread_id, q.available_at ${WAITING} AND q.available_at <= $1 ORDER BY q.available_at LIMIT $2) AS due
  GROUP BY scope_id, thread_id ORDER BY since LIMIT $3`;

interface DueQuery {
  readonly now: number;
  readonly size: number;
  /** Of the rows that are due, so many at most are looked at. */
  readonly window: number | null;
}

/** `isAll` unless rows behind the window may have threads that are missing. */
async function readDue(session: Session, { now, size, window }: DueQuery) {
  const rows = await session.read(sql(SELECT_DUE, now, window, size));
  const seen = rows.reduce((sum, row) => sum + numberOf(row, "count"), 0);
  const threads = rows.map((row) => ({ scopeId: scopeOf(row), threadId: threadId(textOf(row, "thread_id")) }));
  return { threads, isAll: window === null || rows.length === size || seen < window };
}

/** With the time of the server, also when nobody holds anything. */
const SELECT_CLAIMED = `SELECT server_time, dispatch_id, record FROM (SELECT ${SERVER_TIME}) AS clock
  LEFT JOIN (SELECT dispatch_id, record, lease_until FROM ~dispatch WHERE status = 'claimed' ORDER BY lease_until LIMIT $1) AS held ON true
  ORDER BY lease_until`;

/** The queues of all tenants. */
export function dispatchQueue(access: QueueAccess): DispatchQueue {
  const { session, env, clock, wire } = access;
  return {
    ...leftBehind(session),
    async listDue(limit) {
      const size = clampLimit(limit);
      const now = env.clock();
      // Most threads have one row each.
      const first = await readDue(session, { now, size, window: DUE_WINDOW * size });
      return (first.isAll ? first : await readDue(session, { now, size, window: null })).threads;
    },

    async nextDueInMs() {
      const [row] = await session.read(sql(`SELECT q.available_at ${WAITING} ORDER BY q.available_at LIMIT 1`));
      return row && Math.max(numberOf(row, "available_at") - env.clock(), 0);
    },

    reclaimExpired: entry((limit, gone = []) => reclaimExpired(access, clampLimit(limit), gone)),

    async listConsumers() {
      const rows = await clock.hear(() => session.read(sql(SELECT_CLAIMED, MAX_CLAIMS)));
      const held = readable(
        rows.filter((row) => row["record"] !== null),
        readDispatch,
      );
      return toConsumers(
        held.flatMap((claimed) => (claimed.status === "claimed" ? [claimed] : [])),
        env.clock(),
      );
    },

    async listOver({ updatedSince = 0, limit }) {
      const text = `SELECT scope_id, dispatch_id, record FROM ~dispatch
        WHERE status NOT IN ('queued', 'claimed') AND updated_at >= $1 ORDER BY updated_at LIMIT $2`;
      const rows = await session.read(sql(text, updatedSince, clampLimit(limit)));
      return rows.map((row) => ({ scopeId: scopeOf(row), dispatch: readDispatch(row) }));
    },

    hints: ({ signal }) => wire.hints([signal, env.closing]),
  };
}

/** Rows that another node reclaims right now, or that a commit still relies on, are passed over. */
const EXPIRED = `SELECT d.scope_id, d.dispatch_id, d.record,
    coalesce((SELECT e.epoch FROM ~thread_epoch e WHERE e.scope_id = d.scope_id AND e.thread_id = d.thread_id), 0) AS epoch
  FROM ~dispatch d WHERE d.status = 'claimed' AND (d.lease_until < $1 OR d.record ->> 'claimedBy' = ANY ($3::text[]))
  ORDER BY d.lease_until LIMIT $2 FOR UPDATE OF d SKIP LOCKED`;

interface Reclaimed {
  readonly scopeId: ScopeId;
  readonly dispatch: DispatchRecord;
}

function reclaim(row: Row, now: number): readonly Reclaimed[] {
  const claimed = readDispatch(row);
  if (claimed.status !== "claimed") return [];
  const isStale = claimed.epoch < numberOf(row, "epoch");
  return [{ scopeId: scopeOf(row), dispatch: isStale ? supersedeDispatch(claimed, INTERRUPTED, now) : expireDispatch(claimed, now) }];
}

function reclaimExpired({ session, env, wire }: QueueAccess, limit: number, gone: readonly string[]): Promise<readonly ScopedDispatch[]> {
  return session.write(async (tx) => {
    const now = env.clock();
    const [rows = []] = await tx.read(sql(EXPIRED, now, limit, gone));
    const reclaimed = readable(rows, (row) => reclaim(row, now)).flat();
    return {
      writes: reclaimed.flatMap(({ scopeId, dispatch }) => moveDispatches(scopeId, [dispatch])),
      result: reclaimed.filter(({ dispatch }) => dispatch.status !== "superseded"),
      tell: () => {
        for (const { scopeId, dispatch } of reclaimed) tellDispatches({ scopeId, wire }, [dispatch])();
      },
    };
  });
}

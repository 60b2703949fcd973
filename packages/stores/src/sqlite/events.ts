import {
  clampLimit,
  type EventCursor,
  type EventStart,
  type EventStore,
  eventDraft,
  type ScopeId,
  type StoredEvent,
} from "@awaken/contract";
import { EVENT_COLUMNS, eventRow } from "../sql/columns.ts";
import { Conditions } from "../sql/conditions.ts";
import {
  bellKey,
  type EventPlan,
  type EventReads,
  expiredCursor,
  LOG_COLUMNS,
  type Log,
  logOf,
  planEvents,
  readCursor,
  readEvent,
  readHead,
} from "../sql/event-log.ts";
import { Bell } from "../sql/listeners.ts";
import { numberOf, type Row, textOf, toPage } from "../sql/rows.ts";
import { follow, type LogBounds, type NumberedEvent } from "../sql/subscription.ts";
import type { Access } from "./access.ts";
import { decode, writeBlobs } from "./blobs.ts";
import type { Connection, Tx } from "./database.ts";

/** Rows that a follower takes at a time. */
const BATCH = 64;
const COLUMNS = "thread_id, thread_seq, run_id, run_seq, event_id, created_at, record, parts";

const readOf = (db: Connection, scopeId: ScopeId) => (row: Row) => readEvent(row, decode(db, scopeId, row, textOf(row, "event_id")));

function loadHead(db: Connection, scopeId: ScopeId, log: Log) {
  const { id, seq } = LOG_COLUMNS[log.type];
  const row = db.get(
    `SELECT l.last_seq, l.last_at, e.event_id AS kept_id, e.${seq} AS kept_seq FROM event_log l
     LEFT JOIN event e ON e.scope_id = ?1 AND e.${id} = ?3 AND e.${seq} = l.last_seq
     WHERE l.scope_id = ?1 AND l.type = ?2 AND l.id = ?3`,
    ...[scopeId, log.type, log.id],
  );
  return readHead(log.type, row);
}

export const eventReads = (db: Connection, scopeId: ScopeId): EventReads => ({
  known: (writerId, key) => {
    const sql = `SELECT ${COLUMNS} FROM event WHERE scope_id = ? AND writer_id = ? AND idempotency_key = ?`;
    const row = db.get(sql, scopeId, writerId, key);
    return row && readOf(db, scopeId)(row);
  },
  head: (log) => loadHead(db, scopeId, log),
});

export function writeEvents(tx: Tx, { scopeId, env, channels }: Access, { rows, heads }: EventPlan): void {
  for (const row of rows) {
    const { values, blobs } = eventRow(row, env.blobBytes);
    tx.run(`INSERT INTO event (scope_id, ${EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, scopeId, ...values);
    if (row.draft.threadId !== undefined) writeBlobs(tx, scopeId, row.draft.threadId, blobs);
  }
  for (const { log, head } of heads.values()) {
    tx.run(
      `INSERT INTO event_log (scope_id, type, id, last_seq, last_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (scope_id, type, id) DO UPDATE SET last_seq = excluded.last_seq, last_at = excluded.last_at`,
      ...[scopeId, log.type, log.id, head.lastSeq, head.lastAt],
    );
    tx.afterCommit(() => channels.bells.ring(bellKey(scopeId, log)));
  }
}

/** The number of the row that a cursor names; `cursor_expired` unless it is kept. */
function positionOf(db: Connection, scopeId: ScopeId, log: Log, cursor: EventCursor): number {
  const { seq, eventId } = readCursor(log.type, cursor);
  const columns = LOG_COLUMNS[log.type];
  const sql = `SELECT event_id FROM event WHERE scope_id = ? AND ${columns.id} = ? AND ${columns.seq} = ?`;
  if (db.get(sql, scopeId, log.id, seq)?.["event_id"] === eventId) return seq;
  throw expiredCursor(cursor);
}

function loadBounds(db: Connection, scopeId: ScopeId, log: Log): LogBounds {
  const { id, seq } = LOG_COLUMNS[log.type];
  const first = db.get(`SELECT ${seq} AS seq FROM event WHERE scope_id = ? AND ${id} = ? ORDER BY ${seq} LIMIT 1`, scopeId, log.id);
  return { first: first && numberOf(first, "seq"), last: loadHead(db, scopeId, log).lastSeq };
}

function loadAfter(db: Connection, scopeId: ScopeId, log: Log, after: number): readonly NumberedEvent[] {
  const { id, seq } = LOG_COLUMNS[log.type];
  const sql = `SELECT ${COLUMNS} FROM event WHERE scope_id = ? AND ${id} = ? AND ${seq} > ? ORDER BY ${seq} LIMIT ${BATCH}`;
  return db.all(sql, scopeId, log.id, after).map((row) => ({ seq: numberOf(row, seq), event: readOf(db, scopeId)(row) }));
}

function startOf(db: Connection, scopeId: ScopeId, log: Log, from: EventStart): number {
  if (from.type === "after") return positionOf(db, scopeId, log, from.cursor);
  const { first, last } = loadBounds(db, scopeId, log);
  return from.type === "start" && first !== undefined ? first - 1 : last;
}

function subscribe(access: Access, log: Log, from: EventStart, signal: AbortSignal): Promise<AsyncIterable<StoredEvent>> {
  const { scopeId, session, env, channels } = access;
  const reader = {
    after: (seq: number) => session.snapshot((db) => loadAfter(db, scopeId, log, seq)),
    bounds: () => session.snapshot((db) => loadBounds(db, scopeId, log)),
  };
  return session.snapshot((db) => {
    const start = startOf(db, scopeId, log, from);
    const bell = new Bell([signal, env.closing]);
    const leave = channels.bells.hang(bellKey(scopeId, log), bell);
    signal.addEventListener("abort", leave, { once: true });
    return follow({ reader, from: start, bell, signal, leave });
  });
}

export function eventPort(access: Access): EventStore {
  const { scopeId, session, env } = access;
  return {
    append: (appends) =>
      session.write((tx) => {
        for (const { draft } of appends) eventDraft.check(draft);
        const plan = planEvents(appends, eventReads(tx, scopeId), env);
        writeEvents(tx, access, plan);
        return plan.events;
      }),

    list: (scope, { after, visibilities, limit }) =>
      session.snapshot((db) => {
        const log = logOf(scope);
        const { id, seq } = LOG_COLUMNS[log.type];
        const where = new Conditions("?").add("scope_id = ?", scopeId).add(`${id} = ?`, log.id).oneOf("visibility", visibilities);
        if (after !== undefined) where.add(`${seq} > ?`, positionOf(db, scopeId, log, after));
        const size = clampLimit(limit);
        const tail = where.bind(`ORDER BY ${seq} LIMIT ?`, size + 1);
        const rows = db.all(`SELECT ${COLUMNS} FROM event ${where.where} ${tail}`, ...where.values);
        const page = toPage(rows.map(readOf(db, scopeId)), size, (event) => event.cursors[log.type]);
        return { items: page.items, ...(page.next && { next: page.next }) };
      }),

    loadHead: (scope) => session.read((db) => loadHead(db, scopeId, logOf(scope)).cursor),

    subscribe: (scope, from, { signal }) => subscribe(access, logOf(scope), from, signal),
  };
}

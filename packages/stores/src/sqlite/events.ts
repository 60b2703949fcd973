import type { ScopeId } from "@awaken/contract";
import {
  clampLimit,
  type EventCursor,
  type EventStart,
  type EventStore,
  type EventVisibility,
  eventDraft,
  type Page,
  type StoredEvent,
} from "@awaken/contract/store";
import {
  bellKey,
  type EventPlan,
  type EventReads,
  eventHead,
  expiredCursor,
  type Log,
  type LogHead,
  logOf,
  planEvents,
  readCursor,
} from "../sql/event-log.ts";
import {
  EVENT_COLUMNS,
  EVENT_KEY_COLUMNS,
  eventKeyValues,
  eventValues,
  isVisible,
  LOG_COLUMNS,
  numbered,
  readBatch,
  readHead,
} from "../sql/event-rows.ts";
import { Bell } from "../sql/listeners.ts";
import { numberOf, type Row, textIn, textOf, toPage } from "../sql/rows.ts";
import { follow, type LogBounds, type NumberedEvent } from "../sql/subscription.ts";
import type { Access } from "./access.ts";
import { decode, writeBlobs } from "./blobs.ts";
import type { Connection, Tx } from "./database.ts";
import { loadRunHead, loadRunRows, nextStretch } from "./run-events.ts";

/** Rows that are read at a time. */
const BATCH = 64;

const readRow = (db: Connection, scopeId: ScopeId, row: Row): readonly StoredEvent[] =>
  readBatch(row, decode(db, scopeId, row, textOf(row, "batch_id")));

function loadHead(db: Connection, scopeId: ScopeId, log: Log): LogHead {
  const last = log.type === "thread" ? db.get(SELECT_HEAD, scopeId, log.id) : loadRunHead(db, scopeId, log.id);
  return readHead(log.type, last ?? loadSwept(db, scopeId, log));
}

const SELECT_HEAD = `SELECT thread_seq + count - 1 AS last_seq, created_at AS last_at, batch_id, count FROM event
  WHERE scope_id = ? AND thread_id = ? ORDER BY thread_seq DESC LIMIT 1`;

/** How far a log came that has no event left. */
function loadSwept(db: Connection, scopeId: ScopeId, log: Log): Row | undefined {
  const sql = "SELECT last_seq, last_at, NULL AS batch_id FROM swept_log WHERE scope_id = ? AND type = ? AND id = ?";
  return db.get(sql, scopeId, log.type, log.id);
}

const SELECT_FROM = `SELECT scope_id, ${EVENT_COLUMNS} FROM event WHERE scope_id = ?1 AND thread_id = ?2 AND thread_seq >= coalesce(
  (SELECT max(thread_seq) FROM event WHERE scope_id = ?1 AND thread_id = ?2 AND thread_seq <= ?3), 0) ORDER BY thread_seq LIMIT ?4`;

/** Events from number `from` on, by rows: those of the row that holds it, and of the rows after it. */
function loadFrom(db: Connection, scopeId: ScopeId, log: Log, from: number, limit = BATCH): readonly NumberedEvent[] {
  const rows =
    log.type === "thread" ? db.all(SELECT_FROM, scopeId, log.id, from, limit) : loadRunRows(db, scopeId, log.id, { from, limit });
  return rows.flatMap((row) => numbered(row, readRow(db, scopeId, row), log.type)).filter((event) => event.seq >= from);
}

function loadKnown(db: Connection, scopeId: ScopeId, writerId: string, key: string): StoredEvent | undefined {
  const sql = "SELECT thread_id, thread_seq, run_id, run_seq FROM event_key WHERE scope_id = ? AND writer_id = ? AND idempotency_key = ?";
  const row = db.get(sql, scopeId, writerId, key);
  if (row === undefined) return undefined;
  const type = textIn(row, "thread_id") === undefined ? "run" : "thread";
  const { id, seq } = LOG_COLUMNS[type];
  const at = numberOf(row, seq);
  return loadFrom(db, scopeId, { type, id: textOf(row, id) }, at, 1).find((event) => event.seq === at)?.event;
}

export const eventReads = (tx: Tx, scopeId: ScopeId): EventReads => ({
  known: (writerId, key) => loadKnown(tx, scopeId, writerId, key),
  head: (log) => tx.known.heads[log.type].find(scopeId, log.id) ?? loadHead(tx, scopeId, log),
});

const marks = (columns: string): string => columns.replaceAll(/\w+/g, "?");

export function writeEvents(tx: Tx, { scopeId, env, channels }: Access, { batches, keys, logs }: EventPlan): void {
  for (const batch of batches) {
    const { values, blobs } = eventValues(batch, env.blobBytes);
    tx.run(INSERT_EVENT, scopeId, ...values, batch.isNext ? null : 1);
    const { threadId, runId } = batch;
    if (threadId !== undefined) tx.known.heads.thread.put(scopeId, threadId, eventHead("thread", batch));
    if (runId !== undefined) tx.known.heads.run.put(scopeId, runId, eventHead("run", batch));
    if (threadId !== undefined) writeBlobs(tx, scopeId, threadId, blobs);
  }
  for (const key of keys) tx.run(INSERT_KEY, scopeId, ...eventKeyValues(key));
  tx.afterCommit(() => {
    if (channels.bells.size > 0) for (const log of logs) channels.bells.ring(bellKey(scopeId, log));
  });
}

const INSERT_EVENT = `INSERT INTO event (scope_id, ${EVENT_COLUMNS}, begins) VALUES (?, ${marks(EVENT_COLUMNS)}, ?)`;
/** A key whose event was swept is free again. */
const INSERT_KEY = `INSERT OR REPLACE INTO event_key (scope_id, ${EVENT_KEY_COLUMNS}) VALUES (?, ${marks(EVENT_KEY_COLUMNS)})`;

/** The number of the event that a cursor names; `cursor_expired` unless it is kept. */
function positionOf(db: Connection, scopeId: ScopeId, log: Log, cursor: EventCursor): number {
  const seq = readCursor(log.type, cursor);
  if (loadFrom(db, scopeId, log, seq, 1)[0]?.event.cursors[log.type] === cursor) return seq;
  throw expiredCursor(cursor);
}

const SELECT_FIRST = "SELECT thread_seq AS seq FROM event WHERE scope_id = ? AND thread_id = ? ORDER BY thread_seq LIMIT 1";

function loadBounds(db: Connection, scopeId: ScopeId, log: Log): LogBounds {
  const first = log.type === "thread" ? db.get(SELECT_FIRST, scopeId, log.id) : nextStretch(db, scopeId, log.id, 0);
  return { first: first && numberOf(first, "seq"), last: loadHead(db, scopeId, log).lastSeq };
}

interface EventQuery {
  readonly after?: EventCursor;
  readonly visibilities?: readonly EventVisibility[];
  readonly limit?: number;
}

function loadPage(db: Connection, scopeId: ScopeId, log: Log, { after, visibilities, limit }: EventQuery): Page<StoredEvent, EventCursor> {
  const size = clampLimit(limit);
  const found: StoredEvent[] = [];
  let at = after === undefined ? 0 : positionOf(db, scopeId, log, after);
  while (found.length <= size) {
    const events = loadFrom(db, scopeId, log, at + 1);
    found.push(...events.map(({ event }) => event).filter((event) => isVisible(event, visibilities)));
    at = events.at(-1)?.seq ?? at;
    if (events.length === 0) break;
  }
  const { items, next } = toPage(found, size, (event) => event.cursors[log.type]);
  return next === undefined ? { items } : { items, next };
}

function startOf(db: Connection, scopeId: ScopeId, log: Log, from: EventStart): number {
  if (from.type === "after") return positionOf(db, scopeId, log, from.cursor);
  const { first, last } = loadBounds(db, scopeId, log);
  return from.type === "start" && first !== undefined ? first - 1 : last;
}

function subscribe(access: Access, log: Log, from: EventStart, signal: AbortSignal): Promise<AsyncIterable<StoredEvent>> {
  const { scopeId, session, env, channels } = access;
  const reader = {
    after: (seq: number) => session.snapshot((db) => loadFrom(db, scopeId, log, seq + 1)),
    bounds: () => session.snapshot((db) => loadBounds(db, scopeId, log)),
  };
  return session.snapshot((db) => {
    const start = startOf(db, scopeId, log, from);
    const bell = new Bell([signal, env.closing]);
    const leave = channels.bells.hang(bellKey(scopeId, log), bell);
    signal.addEventListener("abort", leave, { once: true });
    return follow({ reader, log, from: start, bell, signal, leave });
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

    list: (scope, query) => session.snapshot((db) => loadPage(db, scopeId, logOf(scope), query)),

    loadHead: (scope) => session.snapshot((db) => loadHead(db, scopeId, logOf(scope)).cursor),

    subscribe: (scope, from, { signal }) => subscribe(access, logOf(scope), from, signal),
  };
}

import { type ScopeId, threadId } from "@awaken/contract";
import {
  clampLimit,
  type EventAppend,
  type EventCursor,
  type EventScope,
  type EventStart,
  type EventStore,
  eventDraft,
  type StoredEvent,
} from "@awaken/contract/store";
import {
  EMPTY_LOG,
  type EventPlan,
  type EventReads,
  expiredCursor,
  keyOf,
  type Log,
  logKey,
  logOf,
  planEvents,
  readCursor,
  touchedLogs,
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
import { numberOf, type Row, textOf, toPage } from "../sql/rows.ts";
import { follow, type LogBounds, type NumberedEvent } from "../sql/subscription.ts";
import type { Access } from "./access.ts";
import { bodiesOf, decode, writeBlobs } from "./blobs.ts";
import { insertRows, type Target } from "./insert-rows.ts";
import { lockThreads } from "./locks.ts";
import type { Session } from "./session.ts";
import { type Statement, sql } from "./statement.ts";

const EVENTS: Target = { table: "event", columns: EVENT_COLUMNS, listed: new Map() };

/** Rows that are read at a time. */
const BATCH = 64;
const COLUMNS = `${EVENT_COLUMNS}, ${bodiesOf("event")}`;

const readRow = (row: Row): readonly StoredEvent[] => readBatch(row, decode(row, textOf(row, "batch_id")));

/** The newest row of a log. */
export const newestOf = (type: Log["type"], scope: string, log: string): string => {
  const { id, seq } = LOG_COLUMNS[type];
  return `SELECT ${seq} + count - 1 AS last_seq, created_at AS last_at, batch_id, count, 0 AS rank FROM ~event
      WHERE scope_id = ${scope} AND ${id} = ${log} ORDER BY ${seq} DESC LIMIT 1`;
};

/** The number of the newest event that a log ever had. */
export const lastSeqOf = (type: Log["type"], scope: string, log: string): string => {
  const { id, seq } = LOG_COLUMNS[type];
  return `coalesce((SELECT ${seq} + count - 1 FROM ~event WHERE scope_id = ${scope} AND ${id} = ${log} ORDER BY ${seq} DESC LIMIT 1),
      (SELECT last_seq FROM ~swept_log WHERE scope_id = ${scope} AND type = '${type}' AND id = ${log}), 0)`;
};

/** The newest row of a log, or how far it came if it has no event left. */
export const headOf = (type: Log["type"], scope: string, log: string): string =>
  `(${newestOf(type, scope, log)})
    UNION ALL SELECT last_seq, last_at, NULL, NULL, 1 FROM ~swept_log WHERE scope_id = ${scope} AND type = '${type}' AND id = ${log}
    ORDER BY rank LIMIT 1`;

export const selectHead = (scopeId: ScopeId, log: Log): Statement => sql(headOf(log.type, "$1", "$2"), scopeId, log.id);

/** The events of these keys, each with the row that holds it. */
export const selectKnown = (scopeId: ScopeId, keys: readonly { readonly writerId: string; readonly key: string }[]): Statement =>
  sql(
    `SELECT k.writer_id, k.idempotency_key, coalesce(k.thread_seq - event.thread_seq, k.run_seq - event.run_seq) AS index,
       ${EVENT_COLUMNS.split(", ")
         .map((column) => `event.${column}`)
         .join(", ")}, ${bodiesOf("event")}
     FROM unnest($2::text[], $3::text[]) AS asked (writer_id, idempotency_key)
     JOIN ~event_key k ON k.scope_id = $1 AND k.writer_id = asked.writer_id AND k.idempotency_key = asked.idempotency_key
     JOIN LATERAL (
       (SELECT * FROM ~event e WHERE k.thread_id IS NOT NULL AND e.scope_id = $1 AND e.thread_id = k.thread_id
          AND e.thread_seq <= k.thread_seq ORDER BY e.thread_seq DESC LIMIT 1)
       UNION ALL
       (SELECT * FROM ~event e WHERE k.thread_id IS NULL AND e.scope_id = $1 AND e.run_id = k.run_id
          AND e.run_seq <= k.run_seq ORDER BY e.run_seq DESC LIMIT 1)
     ) AS event ON true`,
    ...[scopeId, keys.map(({ writerId }) => writerId), keys.map(({ key }) => key)],
  );

export const readKnown = (rows: readonly Row[]): ReadonlyMap<string, StoredEvent | undefined> =>
  new Map(rows.map((row) => [rowKey(row), readRow(row)[numberOf(row, "index")]]));

/** What `planEvents` asks: send the statements, then read their rows. */
function eventReads(scopeId: ScopeId, appends: readonly EventAppend[]) {
  const logs = touchedLogs(appends);
  const keys = appends.flatMap(({ idempotency }) => idempotency ?? []);
  const statements = [...logs.map((log) => selectHead(scopeId, log)), ...(keys.length === 0 ? [] : [selectKnown(scopeId, keys)])];
  const read = (answers: readonly (readonly Row[])[]): EventReads => {
    const heads = new Map(logs.map((log, index) => [logKey(log), readHead(log.type, answers[index]?.[0])]));
    const known = readKnown(answers[logs.length] ?? []);
    return {
      known: (writerId, key) => known.get(keyOf({ writerId, key })),
      head: (log) => heads.get(logKey(log)) ?? EMPTY_LOG,
    };
  };
  return { statements, read };
}

const rowKey = (row: Row): string => keyOf({ writerId: textOf(row, "writer_id"), key: textOf(row, "idempotency_key") });

/** Two writers that saw the same end of a log, or no event of a key: the index lets one of them pass, and the other tries again. */
export function writeEvents({ scopeId, env }: Pick<Access, "scopeId" | "env">, { batches, keys }: EventPlan): readonly Statement[] {
  const rows = batches.map((batch) => ({ batch, ...eventValues(batch, env.blobBytes) }));
  return [
    ...insertRows(
      scopeId,
      EVENTS,
      rows.map((row) => row.values),
    ),
    ...insertRows(scopeId, { table: "event_key", columns: EVENT_KEY_COLUMNS }, keys.map(eventKeyValues)),
    ...rows.flatMap(({ batch, blobs }) => (batch.threadId === undefined ? [] : writeBlobs(scopeId, batch.threadId, blobs))),
  ];
}

export function tellOf({ scopeId, wire }: Pick<Access, "scopeId" | "wire">, { logs }: EventPlan): () => void {
  return () => {
    for (const log of logs) wire.ring(scopeId, log);
  };
}

/** Events from number `from` on, by rows: those of the row that holds it, and of the rows after it. */
async function loadFrom(session: Session, scopeId: ScopeId, log: Log, from: number, limit = BATCH): Promise<readonly NumberedEvent[]> {
  const { id, seq } = LOG_COLUMNS[log.type];
  const text = `SELECT ${COLUMNS} FROM ~event WHERE scope_id = $1 AND ${id} = $2 AND ${seq} >= coalesce(
      (SELECT max(f.${seq}) FROM ~event f WHERE f.scope_id = $1 AND f.${id} = $2 AND f.${seq} <= $3), 0) ORDER BY ${seq} LIMIT $4`;
  const rows = await session.read(sql(text, scopeId, log.id, from, limit));
  return rows.flatMap((row) => numbered(row, readRow(row), log.type)).filter((event) => event.seq >= from);
}

/** The number of the event that a cursor names; `cursor_expired` unless it is kept. */
async function positionOf(session: Session, scopeId: ScopeId, log: Log, cursor: EventCursor): Promise<number> {
  const seq = readCursor(log.type, cursor);
  const [found] = await loadFrom(session, scopeId, log, seq, 1);
  if (found?.event.cursors[log.type] === cursor) return seq;
  throw expiredCursor(cursor);
}

async function loadBounds(session: Session, scopeId: ScopeId, log: Log): Promise<LogBounds> {
  const { id, seq } = LOG_COLUMNS[log.type];
  const text = `SELECT head.last_seq, (SELECT min(e.${seq}) FROM ~event e WHERE e.scope_id = $1 AND e.${id} = $2) AS first
    FROM (${headOf(log.type, "$1", "$2")}) AS head`;
  const [row] = await session.read(sql(text, scopeId, log.id));
  if (row === undefined) return { first: undefined, last: 0 };
  return { first: row["first"] === null ? undefined : numberOf(row, "first"), last: numberOf(row, "last_seq") };
}

async function startOf(session: Session, scopeId: ScopeId, log: Log, from: EventStart): Promise<number> {
  if (from.type === "after") return positionOf(session, scopeId, log, from.cursor);
  const { first, last } = await loadBounds(session, scopeId, log);
  return from.type === "start" && first !== undefined ? first - 1 : last;
}

async function subscribe(access: Access, scope: EventScope, from: EventStart, signal: AbortSignal): Promise<AsyncIterable<StoredEvent>> {
  const { scopeId, session, env, wire } = access;
  const log = logOf(scope);
  const bell = new Bell([signal, env.closing]);
  // Before the first look, so that nothing falls between the two.
  const leave = wire.follow(scopeId, log, bell);
  signal.addEventListener("abort", leave, { once: true });
  const reader = {
    after: (at: number) => loadFrom(session, scopeId, log, at + 1),
    bounds: () => loadBounds(session, scopeId, log),
  };
  try {
    return follow({ reader, log, from: await startOf(session, scopeId, log, from), bell, signal, leave });
  } catch (thrown) {
    leave();
    throw thrown;
  }
}

export function eventPort(access: Access): EventStore {
  const { scopeId, session, env } = access;
  return {
    append: async (appends) => {
      for (const { draft } of appends) eventDraft.check(draft);
      const { statements, read } = eventReads(scopeId, appends);
      const threads = touchedLogs(appends).flatMap((log) => (log.type === "thread" ? [threadId(log.id)] : []));
      return session.write(async (tx) => {
        const [, ...answers] = await tx.read(lockThreads(scopeId, threads.toSorted()), ...statements);
        const plan = planEvents(appends, read(answers), env);
        return { writes: writeEvents(access, plan), result: plan.events, tell: tellOf(access, plan) };
      });
    },

    async list(scope, { after, visibilities, limit }) {
      const log = logOf(scope);
      const size = clampLimit(limit);
      const found: StoredEvent[] = [];
      let at = after === undefined ? 0 : await positionOf(session, scopeId, log, after);
      while (found.length <= size) {
        const events = await loadFrom(session, scopeId, log, at + 1);
        // Swept since the cursor was found, with its event; or gone with a deleted thread, which takes its events out of the middle.
        if (after !== undefined && events[0] !== undefined && events[0].seq > at + 1) await positionOf(session, scopeId, log, after);
        found.push(...events.map(({ event }) => event).filter((event) => isVisible(event, visibilities)));
        at = events.at(-1)?.seq ?? at;
        if (events.length === 0) break;
      }
      const { items, next } = toPage(found, size, (event) => event.cursors[log.type]);
      return next === undefined ? { items } : { items, next };
    },

    async loadHead(scope) {
      const log = logOf(scope);
      const [row] = await session.read(selectHead(scopeId, log));
      return readHead(log.type, row).cursor;
    },

    subscribe: (scope, from, { signal }) => subscribe(access, scope, from, signal),
  };
}

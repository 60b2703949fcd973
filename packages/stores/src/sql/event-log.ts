import {
  AwakenError,
  type EventAppend,
  type EventCursor,
  type EventDraft,
  type EventId,
  type EventScope,
  eventCursor,
  eventId,
  isSameEvent,
  type JsonObject,
  type ScopeId,
  type StoredEvent,
  storedEvent,
} from "@awaken/contract";
import type { Env } from "./env.ts";
import { numberOf, type Row, readRecord, textIn, textOf } from "./rows.ts";

/** One ordered log: rows are numbered from 1 without a gap, and numbers are never used again. */
export interface Log {
  readonly type: "thread" | "run";
  readonly id: string;
}

export const logOf = (scope: EventScope): Log =>
  scope.type === "thread" ? { type: "thread", id: scope.threadId } : { type: "run", id: scope.runId };

export const logKey = ({ type, id }: Log): string => `${type} ${id}`;

/** What whoever follows this log waits for. */
export const bellKey = (scopeId: ScopeId, { type, id }: Log): string => JSON.stringify([scopeId, type, id]);

/** The columns of an event row that say where it stands in logs of this type. */
export const LOG_COLUMNS = {
  thread: { id: "thread_id", seq: "thread_seq" },
  run: { id: "run_id", seq: "run_seq" },
} as const;

/** The event is named too, so that a cursor fits neither another log nor a later log under the same id. */
const cursorOf = (type: Log["type"], seq: number, id: EventId): EventCursor => eventCursor(`${type === "thread" ? "t" : "r"}${seq}.${id}`);

const CURSOR = /^([tr])([1-9]\d{0,14})\.(.+)$/s;

export const expiredCursor = (cursor: EventCursor): AwakenError =>
  new AwakenError("cursor_expired", `event cursor '${cursor}' is unknown or expired`);

/** The row that the cursor names; `cursor_expired` when it cannot be of this log. Whether that row exists is for the store to see. */
export function readCursor(type: Log["type"], cursor: EventCursor): { readonly seq: number; readonly eventId: string } {
  const [, letter, seq, id] = CURSOR.exec(cursor) ?? [];
  if (id === undefined || letter !== type[0]) throw expiredCursor(cursor);
  return { seq: Number(seq), eventId: id };
}

/** How far a log came. `cursor` is that of the newest event that is kept. */
export interface LogHead {
  readonly lastSeq: number;
  readonly lastAt: number;
  readonly cursor?: EventCursor;
}

export const EMPTY_LOG: LogHead = { lastSeq: 0, lastAt: 0 };

/** A new row. What the draft says about its scopes stands in columns. */
export interface EventRow {
  readonly eventId: EventId;
  readonly draft: EventDraft;
  readonly threadSeq: number | undefined;
  readonly runSeq: number | undefined;
  readonly createdAt: number;
  readonly idempotency: EventAppend["idempotency"];
}

export interface EventReads {
  /** The event of an idempotency key. */
  known(writerId: string, key: string): StoredEvent | undefined;
  head(log: Log): LogHead;
}

export interface EventPlan {
  /** One for each append, in order. */
  readonly events: readonly StoredEvent[];
  readonly rows: readonly EventRow[];
  readonly heads: ReadonlyMap<string, { readonly log: Log; readonly head: LogHead }>;
}

const logsOf = ({ threadId, runId }: EventDraft): readonly Log[] => [
  ...(threadId === undefined ? [] : [{ type: "thread", id: threadId } as const]),
  ...(runId === undefined ? [] : [{ type: "run", id: runId } as const]),
];

/** Every log that these appends may touch, in the order in which a store locks them. */
export function touchedLogs(appends: readonly EventAppend[]): readonly Log[] {
  const logs = new Map(appends.flatMap(({ draft }) => logsOf(draft)).map((log) => [logKey(log), log]));
  return [...logs].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, log]) => log);
}

/** Numbers what is new. The drafts are checked already. */
export function planEvents(appends: readonly EventAppend[], reads: EventReads, { clock, ids }: Env): EventPlan {
  const heads = new Map<string, { log: Log; head: LogHead }>();
  const repeated = new Map<string, StoredEvent>();
  const rows: EventRow[] = [];
  const headOf = (log: Log): LogHead => heads.get(logKey(log))?.head ?? reads.head(log);

  const events = appends.map((append): StoredEvent => {
    const { draft, idempotency } = append;
    if (idempotency !== undefined) {
      const before = repeated.get(keyOf(idempotency)) ?? reads.known(idempotency.writerId, idempotency.key);
      if (before !== undefined) return sameEvent(before, append);
    }
    const logs = logsOf(draft);
    const id = eventId(ids());
    const createdAt = Math.max(clock(), ...logs.map((log) => headOf(log).lastAt));
    const seqs: { thread?: number; run?: number } = {};
    const cursors: { thread?: EventCursor; run?: EventCursor } = {};
    for (const log of logs) {
      const head = headOf(log);
      checkExpected(append, log, head);
      const seq = head.lastSeq + 1;
      seqs[log.type] = seq;
      cursors[log.type] = cursorOf(log.type, seq, id);
      heads.set(logKey(log), { log, head: { lastSeq: seq, lastAt: createdAt, cursor: cursorOf(log.type, seq, id) } });
    }
    const event: StoredEvent = { ...draft, eventId: id, cursors, createdAt };
    rows.push({ eventId: id, draft, threadSeq: seqs.thread, runSeq: seqs.run, createdAt, idempotency });
    if (idempotency !== undefined) repeated.set(keyOf(idempotency), event);
    return event;
  });
  return { events, rows, heads };
}

export const keyOf = ({ writerId, key }: { readonly writerId: string; readonly key: string }): string => JSON.stringify([writerId, key]);

function sameEvent(before: StoredEvent, { draft, idempotency }: EventAppend): StoredEvent {
  if (isSameEvent(before, draft)) return before;
  const message = `writer '${idempotency?.writerId}' has appended another event under key '${idempotency?.key}'`;
  throw new AwakenError("idempotency_conflict", message, { details: { eventId: before.eventId } });
}

function checkExpected({ expected }: EventAppend, { type, id }: Log, { cursor }: LogHead): void {
  const known = expected?.[type];
  if (known === undefined || (known ?? undefined) === cursor) return;
  throw new AwakenError("version_conflict", `the event log of ${type} '${id}' has moved`, {
    details: { type, id, expected: known, actual: cursor ?? null },
  });
}

/** The part of a draft that a row keeps as JSON. */
export function eventBody({ threadId: _thread, runId: _run, ...body }: EventDraft): JsonObject {
  return { ...body };
}

/** `stored` is the JSON of the row, with its large parts put back. */
export function readEvent(row: Row, stored: unknown): StoredEvent {
  const id = eventId(textOf(row, "event_id"));
  const own = (type: Log["type"]) => {
    const { id: idColumn, seq: seqColumn } = LOG_COLUMNS[type];
    const value = textIn(row, idColumn);
    return value === undefined ? undefined : { id: value, cursor: cursorOf(type, numberOf(row, seqColumn), id) };
  };
  const [thread, run] = [own("thread"), own("run")];
  return readRecord(storedEvent, stored, id, {
    eventId: id,
    createdAt: numberOf(row, "created_at"),
    cursors: { ...(thread && { thread: thread.cursor }), ...(run && { run: run.cursor }) },
    ...(thread && { threadId: thread.id }),
    ...(run && { runId: run.id }),
  });
}

/** The newest row that is kept, as the head of its log. */
export function readHead(type: Log["type"], row: Row | undefined): LogHead {
  if (row === undefined) return EMPTY_LOG;
  const head = { lastSeq: numberOf(row, "last_seq"), lastAt: numberOf(row, "last_at") };
  const id = textIn(row, "kept_id");
  return id === undefined ? head : { ...head, cursor: cursorOf(type, numberOf(row, "kept_seq"), eventId(id)) };
}

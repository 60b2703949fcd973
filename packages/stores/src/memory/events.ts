import {
  AwakenError,
  clampLimit,
  type EventAppend,
  type EventCursor,
  type EventDraft,
  type EventScope,
  type EventStart,
  type EventStore,
  eventDraft,
  isSameEvent,
  type StoredEvent,
} from "@awaken/contract";
import { EventLog } from "./event-log.ts";
import { EventPlace, EventRow, type RowLog } from "./event-row.ts";
import type { Access, Change, Tables } from "./tables.ts";

/** Rows that a subscriber takes at a time. */
const BATCH = 64;

export function eventPort(access: Access): EventStore {
  const { read, write } = access;
  return {
    append: (appends) =>
      write((change) => {
        for (const { draft } of appends) eventDraft.check(draft);
        return appendEvents(change, appends).map(readRow);
      }),

    list: (scope, { after, visibilities, limit }) =>
      read((tables) => {
        const log = logOf(tables, scope);
        const size = clampLimit(limit);
        const found: EventRow[] = [];
        for (const row of rowsAfter(log, after)) {
          if (visibilities !== undefined && !visibilities.includes(row.visibility)) continue;
          if (found.push(row) > size) break;
        }
        const items = found.slice(0, size).map(readRow);
        const next = found.length > size ? items.at(-1)?.cursors[scope.type] : undefined;
        return { items, ...(next === undefined ? undefined : { next }) };
      }),

    loadHead: (scope) => read((tables) => logOf(tables, scope)?.head),

    subscribe: (scope, from, { signal }) =>
      read((tables) => {
        const log = openLog(tables, scope);
        const position = startOf(log, from);
        log.enter();
        return follow(access, log, position, signal);
      }),
  };
}

function logOf(tables: Tables, scope: EventScope): RowLog | undefined {
  return scope.type === "thread" ? tables.threadEvents.get(scope.threadId) : tables.runEvents.get(scope.runId);
}

/** For a reader that comes before the first event. */
function openLog(tables: Tables, scope: EventScope): RowLog {
  const found = logOf(tables, scope);
  if (found !== undefined) return found;
  const log = new EventLog<EventRow>(scope.type, tables.tags());
  if (scope.type === "thread") tables.threadEvents.set(scope.threadId, log);
  else tables.runEvents.set(scope.runId, log);
  return log;
}

function rowsAfter(log: RowLog | undefined, cursor: EventCursor | undefined): readonly EventRow[] {
  if (cursor === undefined) return log?.rows ?? [];
  if (log === undefined) throw new AwakenError("cursor_expired", `event cursor '${cursor}' is unknown or expired`);
  return log.readAfter(log.positionOf(cursor), Number.POSITIVE_INFINITY);
}

function startOf(log: RowLog, from: EventStart): number {
  switch (from.type) {
    case "start":
      return log.first - 1;
    case "after":
      return log.positionOf(from.cursor);
    case "now":
      return log.last;
  }
}

async function* follow(
  { read, closing }: Access,
  log: RowLog,
  start: number,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent, void, undefined> {
  const signals = [signal, closing];
  let position = start;
  try {
    while (!signal.aborted) {
      const { rows, change } = await read(() => {
        const found = log.readAfter(position, BATCH);
        // Listening begins in the same moment as reading ends, so that nothing falls between the two.
        return { rows: found, change: found.length === 0 ? log.changed(signals) : undefined };
      });
      for (const row of rows) {
        if (signal.aborted) return;
        position++;
        yield row.read();
      }
      await change;
    }
  } finally {
    log.leave();
  }
}

const keyOf = ({ idempotency }: EventAppend): string | undefined =>
  idempotency === undefined ? undefined : JSON.stringify([idempotency.writerId, idempotency.key]);

export const readRow = (row: EventRow): StoredEvent => row.read();

/** The drafts are checked already. */
export function appendEvents(change: Change, appends: readonly EventAppend[]): readonly EventRow[] {
  let place: EventPlace | undefined;
  return appends.map((append) => {
    const key = keyOf(append);
    const first = key === undefined ? undefined : change.tables.eventsByKey.get(key);
    if (first !== undefined) return repeated(first, append);
    if (!place?.fits(append.draft)) place = placeOf(change, append.draft);
    return appendEvent(change, place, append, key);
  });
}

function placeOf(change: Change, draft: EventDraft): EventPlace {
  const { threadEvents, runEvents } = change.tables;
  const thread = draft.threadId === undefined ? undefined : logFor(change, threadEvents, draft.threadId, "thread");
  const run = draft.runId === undefined ? undefined : logFor(change, runEvents, draft.runId, "run");
  return new EventPlace(draft, thread, run, change.now);
}

function appendEvent({ tables, journal }: Change, place: EventPlace, append: EventAppend, key: string | undefined): EventRow {
  checkExpected(append, place.thread, place.run);
  const row = new EventRow(append.draft, place, key);
  place.thread?.append(row, journal);
  place.run?.append(row, journal);
  if (key !== undefined) journal.set(tables.eventsByKey, key, row);
  return row;
}

function repeated(first: EventRow, { draft, idempotency }: EventAppend): EventRow {
  const event = first.read();
  if (isSameEvent(event, draft)) return first;
  throw new AwakenError(
    "idempotency_conflict",
    `event '${draft.kind}' of '${idempotency?.writerId}' says something else than the first time`,
    {
      details: { eventId: event.eventId, writerId: idempotency?.writerId ?? "", key: idempotency?.key ?? "" },
    },
  );
}

function logFor<Id extends string>({ tables, journal }: Change, logs: Map<Id, RowLog>, id: Id, type: RowLog["type"]): RowLog {
  const found = logs.get(id);
  if (found !== undefined) return found;
  const log = new EventLog<EventRow>(type, tables.tags());
  journal.set(logs, id, log);
  return log;
}

function checkExpected({ draft, expected }: EventAppend, thread: RowLog | undefined, run: RowLog | undefined): void {
  if (expected === undefined) return;
  checkHead(draft, expected.thread, thread);
  checkHead(draft, expected.run, run);
}

function checkHead(draft: EventDraft, expected: EventCursor | null | undefined, log: RowLog | undefined): void {
  const actual = log?.head ?? null;
  if (expected === undefined || expected === actual) return;
  throw new AwakenError("version_conflict", `event '${draft.kind}' was written for another end of the log`, {
    details: { expected, actual },
  });
}

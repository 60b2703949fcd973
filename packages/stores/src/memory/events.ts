import { AwakenError, type RunId } from "@awaken/contract";
import {
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
} from "@awaken/contract/store";
import { EventBatch, EventPlace, type RowLog } from "./event-batch.ts";
import { EventLog } from "./event-log.ts";
import { type Access, type Change, type Tables, type ThreadRow, threadRow } from "./tables.ts";

/** Rows that a subscriber takes at a time. */
const BATCH = 64;

export function eventPort(access: Access): EventStore {
  const { read, write } = access;
  return {
    append: (appends) =>
      write((change) => {
        for (const { draft } of appends) eventDraft.check(draft);
        return readAll(appendEvents(change, appends));
      }),

    list: (scope, { after, visibilities, limit }) =>
      read((tables) => {
        const log = logOf(tables, scope);
        const size = clampLimit(limit);
        const items: StoredEvent[] = [];
        for (const [batch, index] of eventsAfter(log, after)) {
          if (visibilities !== undefined && !visibilities.includes(batch.headAt(index).visibility)) continue;
          if (items.length === size) return { items, ...nextOf(items.at(-1)?.cursors[scope.type]) };
          items.push(batch.read(index));
        }
        return { items };
      }),

    loadHead: (scope) => read((tables) => logOf(tables, scope)?.head),

    subscribe: (scope, from, { signal }) =>
      write(({ tables }) => {
        const log = openLog(tables, scope);
        const position = startOf(log, from);
        log.enter();
        return follow(access, log, position, signal);
      }),
  };
}

function logOf(tables: Tables, scope: EventScope): RowLog | undefined {
  return scope.type === "thread" ? tables.threads.get(scope.threadId)?.events : tables.runEvents.get(scope.runId);
}

/** Made for the first event, and for a reader that comes before it. Not taken back with what is written: somebody may read it already. */
export const openLog = (tables: Tables, scope: EventScope): RowLog =>
  scope.type === "thread" ? threadLog(tables, threadRow(tables, scope.threadId)) : runLog(tables, scope.runId);

function threadLog({ tags }: Tables, row: ThreadRow): RowLog {
  row.events ??= new EventLog<EventBatch>("thread", tags);
  return row.events;
}

function runLog({ runEvents, tags }: Tables, id: RunId): RowLog {
  const found = runEvents.get(id);
  if (found !== undefined) return found;
  const log = new EventLog<EventBatch>("run", tags);
  runEvents.set(id, log);
  return log;
}

const nextOf = (next: EventCursor | undefined) => (next === undefined ? undefined : { next });

function eventsAfter(log: RowLog | undefined, cursor: EventCursor | undefined): Iterable<readonly [batch: EventBatch, index: number]> {
  if (log !== undefined) return log.readAfter(cursor === undefined ? log.first - 1 : log.positionOf(cursor));
  if (cursor === undefined) return [];
  throw new AwakenError("cursor_expired", `event cursor '${cursor}' is unknown or expired`);
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
        const found: (readonly [batch: EventBatch, index: number])[] = [];
        for (const event of log.readAfter(position)) if (found.push(event) === BATCH) break;
        // Listening begins in the same moment as reading ends, so that nothing falls between the two.
        return { rows: found, change: found.length === 0 ? log.changed(signals) : undefined };
      });
      for (const [batch, index] of rows) {
        if (signal.aborted) return;
        position = batch.firstIn(log.type) + index;
        yield batch.read(index);
      }
      await change;
    }
  } finally {
    log.leave();
  }
}

const keyOf = ({ idempotency }: EventAppend): string | undefined =>
  idempotency === undefined ? undefined : JSON.stringify([idempotency.writerId, idempotency.key]);

export const readAll = (batches: readonly EventBatch[]): readonly StoredEvent[] => batches.flatMap((batch) => batch.readAll());

/** The drafts are checked already. Gives the events in their order, those that were there before too. */
export function appendEvents(change: Change, appends: readonly EventAppend[], isHandedOver = false): readonly EventBatch[] {
  const batches: EventBatch[] = [];
  let start = 0;
  for (let first = appends[0]; first !== undefined; first = appends[start]) {
    const end = endOfBatch(appends, first, start);
    batches.push(appendBatch(change, first, appends.slice(start, end), isHandedOver));
    start = end;
  }
  return batches;
}

/** Events of the same place are kept together; one that is only appended on a condition stands alone. */
function endOfBatch(appends: readonly EventAppend[], first: EventAppend, start: number): number {
  let end = start + 1;
  if (!isPlain(first, first.draft)) return end;
  for (let next = appends[end]; next !== undefined && isPlain(next, first.draft); next = appends[end]) end++;
  return end;
}

const isPlain = ({ draft, idempotency, expected }: EventAppend, { threadId, runId, origin }: EventDraft): boolean =>
  idempotency === undefined && expected === undefined && draft.threadId === threadId && draft.runId === runId && draft.origin === origin;

function appendBatch(change: Change, first: EventAppend, appends: readonly EventAppend[], isHandedOver: boolean): EventBatch {
  const { tables, journal, now } = change;
  const key = keyOf(first);
  const known = key === undefined ? undefined : tables.eventsByKey.get(key);
  if (known !== undefined) return repeated(known, first);
  const place = placeOf(tables, first.draft);
  checkExpected(first, place.thread, place.run);
  // Never older than what stands before it, whatever the clock says: retention takes the first of a log, and of both logs the same.
  const createdAt = Math.max(now, place.thread?.lastAt ?? 0, place.run?.lastAt ?? 0);
  const batch = new EventBatch(appends, { place, createdAt, key, heads: tables.heads.of(appends), isHandedOver });
  place.thread?.append(batch, journal);
  place.run?.append(batch, journal);
  if (key !== undefined) journal.set(tables.eventsByKey, key, batch);
  return batch;
}

/** That of the events before, as long as they stand in the same logs. */
function placeOf(tables: Tables, draft: EventDraft): EventPlace {
  const { threadId, runId } = draft;
  const thread = threadId === undefined ? undefined : threadLog(tables, threadRow(tables, threadId));
  const run = runId === undefined ? undefined : runLog(tables, runId);
  const last = (run ?? thread)?.batches.at(-1)?.place;
  return last?.fits(draft, thread, run) ? last : new EventPlace(draft, thread, run);
}

function repeated(first: EventBatch, { draft, idempotency }: EventAppend): EventBatch {
  const event = first.read(0);
  if (isSameEvent(event, draft)) return first;
  throw new AwakenError(
    "idempotency_conflict",
    `event '${draft.kind}' of '${idempotency?.writerId}' says something else than the first time`,
    {
      details: { eventId: event.eventId, writerId: idempotency?.writerId ?? "", key: idempotency?.key ?? "" },
    },
  );
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

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
  eventId,
  isSameEvent,
  type StoredEvent,
} from "@awaken/contract";
import { EventLog } from "./event-log.ts";
import { own, share } from "./own.ts";
import type { Access, Change, Tables } from "./tables.ts";

/** Rows that a subscriber takes at a time. */
const BATCH = 64;

export function eventPort(access: Access): EventStore {
  const { read, write } = access;
  return {
    append: (appends) =>
      write((change) => {
        for (const { draft } of appends) eventDraft.check(draft);
        return appendEvents(change, appends);
      }),

    list: (scope, { after, visibilities, limit }) =>
      read((tables) => {
        const log = logOf(tables, scope);
        const size = clampLimit(limit);
        const found: StoredEvent[] = [];
        for (const event of eventsAfter(log, after)) {
          if (visibilities !== undefined && !visibilities.includes(event.visibility)) continue;
          if (found.push(event) > size) break;
        }
        const items = found.slice(0, size);
        const next = found.length > size ? items.at(-1)?.cursors[scope.type] : undefined;
        return { items: items.map(share), ...(next === undefined ? undefined : { next }) };
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

function logOf(tables: Tables, scope: EventScope): EventLog | undefined {
  return scope.type === "thread" ? tables.threadEvents.get(scope.threadId) : tables.runEvents.get(scope.runId);
}

/** For a reader that comes before the first event. */
function openLog(tables: Tables, scope: EventScope): EventLog {
  const found = logOf(tables, scope);
  if (found !== undefined) return found;
  const log = new EventLog(scope.type, tables.tags());
  if (scope.type === "thread") tables.threadEvents.set(scope.threadId, log);
  else tables.runEvents.set(scope.runId, log);
  return log;
}

function eventsAfter(log: EventLog | undefined, cursor: EventCursor | undefined): readonly StoredEvent[] {
  if (cursor === undefined) return log?.events ?? [];
  if (log === undefined) throw new AwakenError("cursor_expired", `event cursor '${cursor}' is unknown or expired`);
  return log.readAfter(log.positionOf(cursor), Number.POSITIVE_INFINITY);
}

function startOf(log: EventLog, from: EventStart): number {
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
  log: EventLog,
  start: number,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent, void, undefined> {
  const signals = [signal, closing];
  let position = start;
  try {
    while (!signal.aborted) {
      const { events, change } = await read(() => {
        const found = log.readAfter(position, BATCH);
        // Listening begins in the same moment as reading ends, so that nothing falls between the two.
        return { events: found, change: found.length === 0 ? log.changed(signals) : undefined };
      });
      for (const event of events) {
        if (signal.aborted) return;
        position++;
        yield share(event);
      }
      await change;
    }
  } finally {
    log.leave();
  }
}

const keyOf = ({ idempotency }: EventAppend): string | undefined =>
  idempotency === undefined ? undefined : JSON.stringify([idempotency.writerId, idempotency.key]);

/** The drafts are checked already. */
export function appendEvents(change: Change, appends: readonly EventAppend[]): readonly StoredEvent[] {
  return appends.map((append) => appendEvent(change, append));
}

function appendEvent(change: Change, append: EventAppend): StoredEvent {
  const { tables, journal } = change;
  const { draft } = append;
  const key = keyOf(append);
  const first = key === undefined ? undefined : tables.eventsByKey.get(key);
  if (first !== undefined) return repeated(first, append);

  const thread = draft.threadId === undefined ? undefined : logFor(change, tables.threadEvents, draft.threadId, "thread");
  const run = draft.runId === undefined ? undefined : logFor(change, tables.runEvents, draft.runId, "run");
  checkExpected(append, thread, run);
  const event = stamp(draft, share(cursorsOf(thread, run)), change.now);
  const stored = { ...event, payload: own(draft.payload) };
  thread?.append(stored, journal);
  run?.append(stored, journal);
  if (key !== undefined) {
    journal.set(tables.eventsByKey, key, stored);
    journal.set(tables.keysByEvent, event.eventId, key);
  }
  return event;
}

function cursorsOf(thread: EventLog | undefined, run: EventLog | undefined): StoredEvent["cursors"] {
  if (thread === undefined) return run === undefined ? {} : { run: run.nextCursor() };
  return run === undefined ? { thread: thread.nextCursor() } : { thread: thread.nextCursor(), run: run.nextCursor() };
}

/** The first cursor is unique in the store, so it is the id as well. */
function stamp(draft: EventDraft, cursors: StoredEvent["cursors"], createdAt: number): StoredEvent {
  return { ...draft, eventId: eventId(cursors.thread ?? cursors.run ?? ""), cursors, createdAt };
}

function repeated(first: StoredEvent, { draft, idempotency }: EventAppend): StoredEvent {
  if (isSameEvent(first, draft)) return share(first);
  throw new AwakenError(
    "idempotency_conflict",
    `event '${draft.kind}' of '${idempotency?.writerId}' says something else than the first time`,
    {
      details: { eventId: first.eventId, writerId: idempotency?.writerId ?? "", key: idempotency?.key ?? "" },
    },
  );
}

function logFor<Id extends string>({ tables, journal }: Change, logs: Map<Id, EventLog>, id: Id, type: EventLog["type"]): EventLog {
  const found = logs.get(id);
  if (found !== undefined) return found;
  const log = new EventLog(type, tables.tags());
  journal.set(logs, id, log);
  return log;
}

function checkExpected({ draft, expected }: EventAppend, thread: EventLog | undefined, run: EventLog | undefined): void {
  if (expected === undefined) return;
  checkHead(draft, expected.thread, thread);
  checkHead(draft, expected.run, run);
}

function checkHead(draft: EventDraft, expected: EventCursor | null | undefined, log: EventLog | undefined): void {
  const actual = log?.head ?? null;
  if (expected === undefined || expected === actual) return;
  throw new AwakenError("version_conflict", `event '${draft.kind}' was written for another end of the log`, {
    details: { expected, actual },
  });
}

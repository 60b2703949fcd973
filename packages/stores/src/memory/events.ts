import { AwakenError, type RunId } from "@awaken/contract";
import {
  type EventAppend,
  type EventCursor,
  type EventDraft,
  type EventScope,
  isSameEvent,
  type StoredEvent,
} from "@awaken/contract/store";
import { type Appended, beginBatch, type EventBatch, type EventPlace, type RowLog } from "./event-batch.ts";
import { EventLog } from "./event-log.ts";
import { NONE } from "./journal.ts";
import type { Copies } from "./own.ts";
import { type Change, type Tables, type ThreadRow, threadRow } from "./tables.ts";

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

const keyOf = ({ idempotency }: EventAppend): string | undefined =>
  idempotency === undefined ? undefined : JSON.stringify([idempotency.writerId, idempotency.key]);

export const readAll = (appended: readonly Appended[]): readonly StoredEvent[] =>
  appended.flatMap(({ batch, from, count }) => Array.from({ length: count }, (_, index) => batch.read(from + index)));

/** Whose events they are. */
interface Source {
  /** Undefined: they are handed over. */
  readonly copies: Copies | undefined;
  /** Of the thread that all of them are about, when it is known. */
  readonly row: ThreadRow | undefined;
}

/** The drafts are checked already. Gives the events in their order, those that were there before too. */
export function appendEvents(change: Change, appends: readonly EventAppend[], source: Source): readonly Appended[] {
  const batches: Appended[] = [];
  let start = 0;
  for (let first = appends[0]; first !== undefined; first = appends[start]) {
    const end = endOfBatch(appends, first, start);
    const batch = start === 0 && end === appends.length ? appends : appends.slice(start, end);
    batches.push(appendBatch(change, first, batch, source));
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

function appendBatch(change: Change, first: EventAppend, appends: readonly EventAppend[], source: Source): Appended {
  const { tables, journal, now } = change;
  const { draft } = first;
  const key = keyOf(first);
  const known = key === undefined ? undefined : tables.eventsByKey.get(key);
  if (known !== undefined) return { batch: repeated(known, first), from: 0, count: 1 };
  const place = placeOf(tables, draft, source);
  const { thread, run } = place;
  checkExpected(first, thread, run);
  // Never older than what stands before it, whatever the clock says: retention takes the first of a log, and of both logs the same.
  const createdAt = Math.max(now, thread?.lastAt ?? 0, run?.lastAt ?? 0);
  const last = (thread ?? run)?.tail;
  const goesOn = key === undefined && last?.isOpen(draft, place) === true;
  const batch = goesOn ? last : beginBatch(appends, draft, place, { key, begunAt: createdAt });
  const from = goesOn ? last.count : 0;
  if (goesOn) last.extend(appends, place, { createdAt, journal });
  thread?.append(batch, journal);
  run?.append(batch, journal);
  if (key !== undefined) journal.put(tables.eventsByKey, key, batch, undefined);
  return { batch, from, count: appends.length };
}

function placeOf(tables: Tables, draft: EventDraft, { copies, row: known }: Source): EventPlace {
  const { threadId, runId } = draft;
  const row = threadId === undefined ? undefined : (known ?? threadRow(tables, threadId));
  const thread = row && threadLog(tables, row);
  // What is in the log of its thread is in that of its run: both are purged of the same.
  const near = thread?.tail;
  const isNear = near !== undefined && near.threadId === threadId && near.runId === runId;
  const run = isNear ? near.run : runId === undefined ? undefined : runLog(tables, runId);
  return { thread, run, messages: row?.messages ?? NONE, copies };
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

import { AwakenError, type EventId, eventId, type ScopeId } from "@awaken/contract";
import {
  type EventAppend,
  type EventCursor,
  type EventDraft,
  type EventScope,
  eventCursor,
  isSameEvent,
  type StoredEvent,
} from "@awaken/contract/store";
import type { Env } from "./env.ts";

/** One ordered log: events are numbered from 1 without a gap, and numbers are never used again. */
export interface Log {
  readonly type: "thread" | "run";
  readonly id: string;
}

export const logOf = (scope: EventScope): Log =>
  scope.type === "thread" ? { type: "thread", id: scope.threadId } : { type: "run", id: scope.runId };

export const logKey = ({ type, id }: Log): string => `${type} ${id}`;

/** What whoever follows this log waits for. */
export const bellKey = (scopeId: ScopeId, { type, id }: Log): string => JSON.stringify([scopeId, type, id]);

/** The event is named too, so that a cursor fits neither another log nor a later log under the same id. */
export const cursorOf = (type: Log["type"], seq: number, id: EventId): EventCursor =>
  eventCursor(`${type === "thread" ? "t" : "r"}${seq}.${id}`);

/** The event that a cursor of ours names. */
const eventOf = (cursor: EventCursor): string => cursor.slice(cursor.indexOf(".") + 1);

const CURSOR = /^([tr])([1-9]\d{0,14})\.(.+)$/s;

export const expiredCursor = (cursor: EventCursor): AwakenError =>
  new AwakenError("cursor_expired", `event cursor '${cursor}' is unknown or expired`);

/** The number of the event that the cursor names; `cursor_expired` when it cannot be of this log. Whether it is kept is for the store to see. */
export function readCursor(type: Log["type"], cursor: EventCursor): number {
  const [, letter, seq] = CURSOR.exec(cursor) ?? [];
  if (letter !== type[0]) throw expiredCursor(cursor);
  return Number(seq);
}

/** How far a log came. `cursor` is that of the newest event, if it is kept. */
export interface LogHead {
  readonly lastSeq: number;
  readonly lastAt: number;
  readonly cursor?: EventCursor;
}

export const EMPTY_LOG: LogHead = { lastSeq: 0, lastAt: 0 };

/** New events of the same logs that follow each other are one row: `threadSeq` and `runSeq` are the numbers of the first. */
export interface EventBatch {
  readonly batchId: string;
  readonly threadId: EventDraft["threadId"];
  readonly threadSeq: number | undefined;
  readonly runId: EventDraft["runId"];
  readonly runSeq: number | undefined;
  readonly createdAt: number;
  readonly drafts: readonly EventDraft[];
  /** The event before it is the same in both logs. */
  readonly isNext: boolean;
}

/** Where the event of an idempotency key stands. */
export interface EventKey extends Pick<EventBatch, "threadId" | "threadSeq" | "runId" | "runSeq" | "createdAt"> {
  readonly writerId: string;
  readonly key: string;
}

export interface EventReads {
  /** The event of an idempotency key, if it is kept. */
  known(writerId: string, key: string): StoredEvent | undefined;
  head(log: Log): LogHead;
}

export interface EventPlan {
  /** One for each append, in order. */
  readonly events: readonly StoredEvent[];
  readonly batches: readonly EventBatch[];
  readonly keys: readonly EventKey[];
  /** Those that became longer. */
  readonly logs: readonly Log[];
}

function logsOf({ threadId, runId }: EventDraft): readonly Log[] {
  const logs: Log[] = [];
  if (threadId !== undefined) logs.push({ type: "thread", id: threadId });
  if (runId !== undefined) logs.push({ type: "run", id: runId });
  return logs;
}

/** Every log that these appends may touch. */
export function touchedLogs(appends: readonly EventAppend[]): readonly Log[] {
  return [...new Map(appends.flatMap(({ draft }) => logsOf(draft)).map((log) => [logKey(log), log])).values()];
}

export const keyOf = ({ writerId, key }: { readonly writerId: string; readonly key: string }): string => JSON.stringify([writerId, key]);

/** Numbers what is new. The drafts are checked already. */
export function planEvents(appends: readonly EventAppend[], reads: EventReads, env: Env): EventPlan {
  if (appends.length === 0) return { events: [], batches: [], keys: [], logs: [] };
  const numbering = new Numbering(reads, env);
  const repeated = new Map<string, StoredEvent>();
  const events = appends.map((append) => {
    const { idempotency } = append;
    if (idempotency === undefined) return numbering.add(append);
    const before = repeated.get(keyOf(idempotency)) ?? reads.known(idempotency.writerId, idempotency.key);
    if (before !== undefined) return sameEvent(before, append);
    const event = numbering.add(append);
    repeated.set(keyOf(idempotency), event);
    return event;
  });
  return { events, batches: numbering.batches, keys: numbering.keys, logs: numbering.logs };
}

interface Place {
  readonly log: Log;
  head: LogHead;
}

interface OpenBatch extends EventBatch {
  readonly drafts: EventDraft[];
  readonly places: readonly Place[];
}

/** Hands out numbers in the logs of one append. */
class Numbering {
  readonly batches: OpenBatch[] = [];
  readonly keys: EventKey[] = [];
  readonly #reads: EventReads;
  readonly #ids: () => string;
  readonly #now: number;
  readonly #places = new Map<string, Place>();

  constructor(reads: EventReads, { clock, ids }: Env) {
    this.#reads = reads;
    this.#ids = ids;
    this.#now = clock();
  }

  get logs(): readonly Log[] {
    return [...this.#places.values()].map(({ log }) => log);
  }

  add(append: EventAppend): StoredEvent {
    const { draft, idempotency } = append;
    const batch = this.#batchFor(draft);
    const { createdAt, drafts } = batch;
    const id = eventIdAt(batch.batchId, drafts.length);
    const cursors: { thread?: EventCursor; run?: EventCursor } = {};
    for (const place of batch.places) {
      const { type } = place.log;
      checkExpected(append, place);
      const lastSeq = place.head.lastSeq + 1;
      const cursor = cursorOf(type, lastSeq, id);
      cursors[type] = cursor;
      place.head = { lastSeq, lastAt: createdAt, cursor };
    }
    if (idempotency !== undefined) this.keys.push({ ...placeOf(batch, drafts.length), ...idempotency });
    drafts.push(draft);
    return { ...draft, eventId: id, cursors, createdAt };
  }

  #batchFor(draft: EventDraft): OpenBatch {
    const { threadId, runId } = draft;
    const last = this.batches.at(-1);
    if (last !== undefined && last.threadId === threadId && last.runId === runId) return last;
    const places = logsOf(draft).map((log) => this.#placeIn(log));
    const next = (type: Log["type"]) => {
      const head = places.find(({ log }) => log.type === type)?.head;
      return head && head.lastSeq + 1;
    };
    const createdAt = Math.max(this.#now, ...places.map(({ head }) => head.lastAt));
    const [one, other] = places.map(({ head }) => head.cursor && eventOf(head.cursor));
    const isNext = one !== undefined && one === other;
    const numbers = { threadSeq: next("thread"), runSeq: next("run") };
    const batch = { batchId: this.#ids(), threadId, runId, ...numbers, createdAt, drafts: [], places, isNext };
    this.batches.push(batch);
    return batch;
  }

  #placeIn(log: Log): Place {
    const found = this.#places.get(logKey(log));
    if (found !== undefined) return found;
    const place = { log, head: this.#reads.head(log) };
    this.#places.set(logKey(log), place);
    return place;
  }
}

/** How far a log of this type came with a batch that has a place in it. */
export function eventHead(type: Log["type"], { batchId, threadSeq, runSeq, createdAt, drafts }: EventBatch): LogHead {
  const lastSeq = ((type === "thread" ? threadSeq : runSeq) ?? 0) + drafts.length - 1;
  return { lastSeq, lastAt: createdAt, cursor: cursorOf(type, lastSeq, eventIdAt(batchId, drafts.length - 1)) };
}

export const eventIdAt = (batchId: string, index: number): EventId => eventId(`${batchId}.${index}`);

function placeOf({ threadId, threadSeq, runId, runSeq, createdAt }: EventBatch, index: number) {
  const at = (first: number | undefined) => (first === undefined ? undefined : first + index);
  return { threadId, threadSeq: at(threadSeq), runId, runSeq: at(runSeq), createdAt };
}

function sameEvent(before: StoredEvent, { draft, idempotency }: EventAppend): StoredEvent {
  if (isSameEvent(before, draft)) return before;
  const message = `writer '${idempotency?.writerId}' has appended another event under key '${idempotency?.key}'`;
  throw new AwakenError("idempotency_conflict", message, { details: { eventId: before.eventId } });
}

function checkExpected({ expected }: EventAppend, { log: { type, id }, head: { cursor } }: Place): void {
  const known = expected?.[type];
  if (known === undefined || (known ?? undefined) === cursor) return;
  throw new AwakenError("version_conflict", `the event log of ${type} '${id}' has moved`, {
    details: { type, id, expected: known, actual: cursor ?? null },
  });
}

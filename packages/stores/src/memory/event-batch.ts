import { AwakenError, eventId, type JsonObject, type Message, type RunId, type ThreadId } from "@awaken/contract";
import { EVENT_SCHEMA_VERSION, type EventAppend, type EventDraft, messageFact, type StoredEvent, small } from "@awaken/contract/store";
import type { EventLog, LogType } from "./event-log.ts";
import type { Journal } from "./journal.ts";
import type { Copies } from "./own.ts";
import { share } from "./share.ts";

/** The events of one thread or run. */
export type RowLog = EventLog<EventBatch>;

/** What an event says about itself beside its payload. */
type Head = Pick<EventDraft, "kind" | "visibility" | "causationId" | "correlationId">;

/** Most events are public and name no other: of these the kind is enough. */
function headOf({ kind, visibility, causationId, correlationId }: EventDraft): string | Head {
  if (visibility === "public" && causationId === undefined && correlationId === undefined) return kind;
  return {
    ...{ kind, visibility },
    ...(causationId === undefined ? undefined : { causationId }),
    ...(correlationId === undefined ? undefined : { correlationId }),
  };
}

/**
 * Three for each event: its head, its payload, and how long after the first of them it came. One that a message is in the log has the row
 * of that and the message instead: its payload repeats them.
 */
type Item = string | Head | JsonObject | number | Message;
export const EACH = 3;

const isHead = (item: Item | undefined): item is Head => typeof item === "object" && "kind" in item;
const isMessage = (item: Item | undefined): item is Message => typeof item === "object" && "content" in item;
const isPayload = (item: Item | undefined): item is JsonObject => typeof item === "object";
const numberOf = (item: Item | undefined): number => (typeof item === "number" ? item : 0);

/** A list that is shorter takes no more room than its items. */
const SHORT = 20 * EACH;

/** Where events go. */
export interface EventPlace {
  readonly thread: RowLog | undefined;
  readonly run: RowLog | undefined;
  /** Of the thread. */
  readonly messages: readonly Message[];
  /** Undefined: the payloads are the store's own already. */
  readonly copies: Copies | undefined;
}

/** The message that is in the log of the thread, when the event of a run's own writer says no more than that. */
function messageOf({ kind, payload }: EventDraft, { messages, copies }: EventPlace): Message | undefined {
  if (kind !== "message-committed" || copies !== undefined) return undefined;
  const message = messages[Number(payload["messageSeq"]) - 1];
  return message?.id === payload["messageId"] ? message : undefined;
}

function itemsOf(appends: readonly EventAppend[], place: EventPlace, age: number): Item[] {
  const items = new Array<Item>(EACH * appends.length);
  let at = 0;
  for (const { draft } of appends) {
    const message = messageOf(draft, place);
    items[at++] = message === undefined ? headOf(draft) : Number(draft.payload["messageSeq"]);
    items[at++] = message ?? (place.copies === undefined ? draft.payload : place.copies.own(draft.payload));
    items[at++] = age;
  }
  return items;
}

// No method: a private one is a field of each batch.
const isLastIn = (log: RowLog | undefined, batch: EventBatch): boolean =>
  log === undefined || (log.tail === batch && log.last === batch.firstIn(log.type) + batch.count - 1);

/** All but how its events are read. */
interface Kept extends Pick<EventPlace, "thread" | "run"> {
  readonly threadId: ThreadId | undefined;
  readonly runId: RunId | undefined;
  readonly origin: string;
  /** Of its writer: the same key appends once. An event with a key has a batch of its own. */
  readonly key: string | undefined;
  /** When the first of them came. */
  readonly begunAt: number;
  items: Item[];
  /** The positions of the first of them. */
  readonly threadFirst: number;
  readonly runFirst: number;
}

/**
 * Events of the same place that stand behind each other in each of their logs, as they are kept: mostly all of one run. Most are never
 * read, so their ids, their cursors and the events themselves are made for a reader.
 */
export class EventBatch implements Kept {
  readonly threadId: ThreadId | undefined;
  readonly runId: RunId | undefined;
  readonly origin: string;
  readonly thread: RowLog | undefined;
  readonly run: RowLog | undefined;
  readonly key: string | undefined;
  readonly begunAt: number;
  items: Item[];
  readonly threadFirst: number;
  readonly runFirst: number;

  constructor({ threadId, runId, origin, thread, run, key, begunAt, items, threadFirst, runFirst }: Kept) {
    this.threadId = threadId;
    this.runId = runId;
    this.origin = origin;
    this.thread = thread;
    this.run = run;
    this.key = key;
    this.begunAt = begunAt;
    this.items = items;
    this.threadFirst = threadFirst;
    this.runFirst = runFirst;
  }

  get count(): number {
    return this.items.length / EACH;
  }

  firstIn(log: LogType): number {
    return log === "thread" ? this.threadFirst : this.runFirst;
  }

  /** When its newest event was appended. */
  get lastAt(): number {
    return this.timeAt(this.count - 1);
  }

  fits({ threadId, runId, origin }: EventDraft): boolean {
    return this.origin === origin && this.threadId === threadId && this.runId === runId;
  }

  /** Whether what comes next in both logs may stand in it. */
  isOpen(draft: EventDraft, { thread, run }: EventPlace): boolean {
    return this.key === undefined && this.fits(draft) && isLastIn(thread, this) && isLastIn(run, this);
  }

  extend(appends: readonly EventAppend[], place: EventPlace, { createdAt, journal }: { createdAt: number; journal: Journal }): void {
    journal.keepField<EventBatch, "items">(this, "items", this.items);
    this.items = journal.extended(this.items, itemsOf(appends, place, small(createdAt - this.begunAt)), SHORT);
  }

  headAt(index: number): Head {
    const head = this.items[EACH * index];
    if (isHead(head)) return head;
    if (typeof head === "string") return { kind: head, visibility: "public" };
    const message = this.items[EACH * index + 1];
    return { kind: "message-committed", visibility: isMessage(message) && message.visibility === "internal" ? "internal" : "public" };
  }

  payloadAt(index: number): JsonObject {
    const [head, payload] = [this.items[EACH * index], this.items[EACH * index + 1]];
    if (typeof head === "number" && isMessage(payload)) return messageFact(payload, head);
    return isPayload(payload) ? payload : {};
  }

  /** When it was appended. */
  timeAt(index: number): number {
    return this.begunAt + numberOf(this.items[EACH * index + 2]);
  }

  /** Made for its reader. What it says is the store's own and frozen: what he does to it reaches nobody. */
  read(index: number): StoredEvent {
    if (index >= this.count) throw new AwakenError("data_integrity", "events that were taken back");
    const { threadId, runId, origin } = this;
    const thread = this.thread?.cursorAt(this.threadFirst + index);
    const run = this.run?.cursorAt(this.runFirst + index);
    return {
      schemaVersion: EVENT_SCHEMA_VERSION,
      ...this.headAt(index),
      payload: share(this.payloadAt(index)),
      origin,
      ...(threadId === undefined ? undefined : { threadId }),
      ...(runId === undefined ? undefined : { runId }),
      // The first cursor is unique in the store, so it is the id as well.
      eventId: eventId(thread ?? run ?? ""),
      cursors: { ...(thread === undefined ? undefined : { thread }), ...(run === undefined ? undefined : { run }) },
      createdAt: this.timeAt(index),
    };
  }
}

/** Begins with these, for the next positions of the logs of its place. */
export function beginBatch(
  appends: readonly EventAppend[],
  draft: EventDraft,
  place: EventPlace,
  { key, begunAt }: Pick<Kept, "key" | "begunAt">,
): EventBatch {
  const { thread, run } = place;
  const { threadId, runId, origin } = draft;
  const items = itemsOf(appends, place, 0);
  const [threadFirst, runFirst] = [nextIn(thread), nextIn(run)];
  return new EventBatch({ threadId, runId, origin, thread, run, key, begunAt, items, threadFirst, runFirst });
}

const nextIn = (log: RowLog | undefined): number => (log === undefined ? 0 : log.last + 1);

/** Some of a batch that came together. */
export interface Appended {
  readonly batch: EventBatch;
  readonly from: number;
  readonly count: number;
}

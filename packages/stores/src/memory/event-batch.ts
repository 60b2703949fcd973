import { eventId, type JsonObject } from "@awaken/contract";
import {
  EVENT_SCHEMA_VERSION,
  type EventAppend,
  type EventCursor,
  type EventDraft,
  type EventTarget,
  type StoredEvent,
} from "@awaken/contract/store";
import type { EventLog, LogType } from "./event-log.ts";
import type { Copies } from "./own.ts";
import { share } from "./share.ts";

function targetOf(draft: EventDraft): EventTarget {
  if (draft.threadId === undefined) return { runId: draft.runId };
  return draft.runId === undefined ? { threadId: draft.threadId } : { threadId: draft.threadId, runId: draft.runId };
}

/** The events of one thread or run. */
export type RowLog = EventLog<EventBatch>;

/** What the events of one run have in common. */
export class EventPlace {
  readonly target: EventTarget;
  readonly origin: string;
  readonly thread: RowLog | undefined;
  readonly run: RowLog | undefined;

  constructor(draft: EventDraft, thread: RowLog | undefined, run: RowLog | undefined) {
    this.target = targetOf(draft);
    this.origin = draft.origin;
    this.thread = thread;
    this.run = run;
  }

  fits({ threadId, runId, origin }: EventDraft): boolean {
    return this.origin === origin && this.target.threadId === threadId && this.target.runId === runId;
  }
}

/** What an event says about itself beside its payload. */
type Head = Pick<EventDraft, "kind" | "visibility" | "causationId" | "correlationId">;

/** Most events are public and name no other: of these the kind is enough. */
function headOf({ draft: { kind, visibility, causationId, correlationId } }: EventAppend): string | Head {
  if (visibility === "public" && causationId === undefined && correlationId === undefined) return kind;
  return {
    ...{ kind, visibility },
    ...(causationId === undefined ? undefined : { causationId }),
    ...(correlationId === undefined ? undefined : { correlationId }),
  };
}

type Heads = readonly (string | Head)[];

const KNOWN_LISTS = 16;
/** Longer lists are rare. */
const MAX_KNOWN = 16;

/** The heads of a batch are mostly those of one before it: these are kept once. */
export class HeadLists {
  readonly #known: Heads[] = [];

  of(appends: readonly EventAppend[]): Heads {
    for (const known of this.#known) if (isSame(known, appends)) return known;
    const heads = appends.map(headOf);
    if (heads.length <= MAX_KNOWN && heads.every((head) => typeof head === "string")) {
      if (this.#known.push(heads) > KNOWN_LISTS) this.#known.shift();
    }
    return heads;
  }
}

/** Looked at before a list is made of them: most are known. */
function isSame(known: Heads, appends: readonly EventAppend[]): boolean {
  if (known.length !== appends.length) return false;
  let index = 0;
  for (const append of appends) if (known[index++] !== headOf(append)) return false;
  return true;
}

interface BatchInit extends Pick<EventBatch, "place" | "createdAt" | "key"> {
  /** The payloads are the store's own already. */
  readonly copies: Copies | undefined;
  readonly heads: Heads;
}

/**
 * Events that were appended together, as they are kept. Most are never read, so their ids, their cursors and the events themselves are
 * made for a reader.
 */
export class EventBatch {
  readonly place: EventPlace;
  readonly createdAt: number;
  /** Of its writer: the same key appends once. An event with a key has a batch of its own. */
  readonly key: string | undefined;
  readonly payloads: readonly JsonObject[];
  readonly #heads: Heads;
  readonly #threadFirst: number;
  readonly #runFirst: number;

  /** For the next positions of the logs of its place. */
  constructor(appends: readonly EventAppend[], { place, createdAt, key, heads, copies }: BatchInit) {
    this.place = place;
    this.createdAt = createdAt;
    this.key = key;
    this.payloads = appends.map(({ draft }) => (copies === undefined ? draft.payload : copies.own(draft.payload)));
    this.#heads = heads;
    this.#threadFirst = place.thread === undefined ? 0 : place.thread.last + 1;
    this.#runFirst = place.run === undefined ? 0 : place.run.last + 1;
  }

  get count(): number {
    return this.payloads.length;
  }

  firstIn(log: LogType): number {
    return log === "thread" ? this.#threadFirst : this.#runFirst;
  }

  headAt(index: number): Head {
    const head = this.#heads[index] ?? "";
    return typeof head === "string" ? { kind: head, visibility: "public" } : head;
  }

  readAll(): readonly StoredEvent[] {
    return this.payloads.map((_, index) => this.read(index));
  }

  /** Of its last event in the log of its run. */
  get lastCursor(): EventCursor | undefined {
    return this.place.run?.cursorAt(this.#runFirst + this.payloads.length - 1);
  }

  /** Made for its reader. What it says is the store's own and frozen: what he does to it reaches nobody. */
  read(index: number): StoredEvent {
    const { place } = this;
    const thread = place.thread?.cursorAt(this.#threadFirst + index);
    const run = place.run?.cursorAt(this.#runFirst + index);
    return {
      schemaVersion: EVENT_SCHEMA_VERSION,
      ...this.headAt(index),
      payload: share(this.payloads[index] ?? {}),
      origin: place.origin,
      ...place.target,
      // The first cursor is unique in the store, so it is the id as well.
      eventId: eventId(thread ?? run ?? ""),
      cursors: { ...(thread === undefined ? undefined : { thread }), ...(run === undefined ? undefined : { run }) },
      createdAt: this.createdAt,
    };
  }
}

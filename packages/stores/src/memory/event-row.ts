import { EVENT_SCHEMA_VERSION, type EventDraft, type EventTarget, eventId, type StoredEvent } from "@awaken/contract";
import type { EventLog } from "./event-log.ts";
import { own, share } from "./own.ts";

function targetOf(draft: EventDraft): EventTarget {
  if (draft.threadId === undefined) return { runId: draft.runId };
  return draft.runId === undefined ? { threadId: draft.threadId } : { threadId: draft.threadId, runId: draft.runId };
}

/** The events of one thread or run. */
export type RowLog = EventLog<EventRow>;

/** What events that are appended together have in common. */
export class EventPlace {
  readonly target: EventTarget;
  readonly origin: string;
  readonly createdAt: number;
  readonly thread: RowLog | undefined;
  readonly run: RowLog | undefined;

  constructor(draft: EventDraft, thread: RowLog | undefined, run: RowLog | undefined, now: number) {
    this.target = targetOf(draft);
    this.origin = draft.origin;
    this.createdAt = now;
    this.thread = thread;
    this.run = run;
  }

  fits({ threadId, runId, origin }: EventDraft): boolean {
    return this.target.threadId === threadId && this.target.runId === runId && this.origin === origin;
  }
}

type Links = Pick<EventDraft, "causationId" | "correlationId">;

function linksOf({ causationId, correlationId }: EventDraft): Links | undefined {
  if (causationId === undefined && correlationId === undefined) return undefined;
  return { ...(causationId === undefined ? undefined : { causationId }), ...(correlationId === undefined ? undefined : { correlationId }) };
}

/** An event as it is kept. Most are never read, so its ids, its cursors and the event itself are made for a reader. */
export class EventRow {
  readonly place: EventPlace;
  readonly visibility: EventDraft["visibility"];
  /** Of its writer: the same key appends once. */
  readonly key: string | undefined;
  readonly payload: EventDraft["payload"];
  readonly #kind: string;
  readonly #links: Links | undefined;
  readonly #threadPosition: number;
  readonly #runPosition: number;

  /** For the next position of the logs of its place. */
  constructor(draft: EventDraft, place: EventPlace, key: string | undefined) {
    this.place = place;
    this.visibility = draft.visibility;
    this.key = key;
    this.#kind = draft.kind;
    this.payload = own(draft.payload);
    this.#links = linksOf(draft);
    this.#threadPosition = place.thread === undefined ? 0 : place.thread.last + 1;
    this.#runPosition = place.run === undefined ? 0 : place.run.last + 1;
  }

  /** Frozen: what a reader does to it reaches nobody. */
  read(): StoredEvent {
    const { target, origin, createdAt } = this.place;
    const thread = this.place.thread?.cursorAt(this.#threadPosition);
    const run = this.place.run?.cursorAt(this.#runPosition);
    return share({
      schemaVersion: EVENT_SCHEMA_VERSION,
      kind: this.#kind,
      payload: this.payload,
      visibility: this.visibility,
      origin,
      ...this.#links,
      ...target,
      // The first cursor is unique in the store, so it is the id as well.
      eventId: eventId(thread ?? run ?? ""),
      cursors: { ...(thread === undefined ? undefined : { thread }), ...(run === undefined ? undefined : { run }) },
      createdAt,
    });
  }
}

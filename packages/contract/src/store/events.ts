import { AwakenError } from "../error.ts";
import type { EventId, Id, RunId, ThreadId } from "../ids.ts";
import { type JsonObject, sameJson } from "../json.ts";
import type { EVENT_SCHEMA_VERSION } from "./event-version.ts";
import type { Page } from "./page.ts";

export const EVENT_VISIBILITIES = ["public", "internal", "audit", "sensitive"] as const;
export type EventVisibility = (typeof EVENT_VISIBILITIES)[number];

/** One ordered log: that of a thread or that of a run. */
export type EventScope = { readonly type: "thread"; readonly threadId: ThreadId } | { readonly type: "run"; readonly runId: RunId };

/** The logs that an event belongs to: a thread's, a run's, or both. */
export type EventTarget = { readonly threadId: ThreadId; readonly runId?: RunId } | { readonly runId: RunId; readonly threadId?: never };

interface EventBody {
  /** Of kind and payload. */
  readonly schemaVersion: typeof EVENT_SCHEMA_VERSION;
  /** What happened, kebab-case; the runtime and the mailbox say which kinds there are. */
  readonly kind: string;
  readonly payload: JsonObject;
  readonly visibility: EventVisibility;
  /** Who says so. */
  readonly origin: string;
  readonly causationId?: string;
  readonly correlationId?: string;
}

export type EventDraft = EventBody & EventTarget;

/** Says where an event stands in one scope; opaque, and meaningless in any other scope. */
export type EventCursor = Id<"event cursor">;

export type StoredEvent = EventDraft & {
  readonly eventId: EventId;
  /** One for each scope of the event. */
  readonly cursors: { readonly thread?: EventCursor; readonly run?: EventCursor };
  readonly createdAt: number;
};

export interface EventAppend {
  readonly draft: EventDraft;
  /** The same key of the same writer appends once. */
  readonly idempotency?: { readonly writerId: string; readonly key: string };
  /** The last cursor of a scope that the writer knows, null for an empty one; another one is a `version_conflict`. */
  readonly expected?: { readonly thread?: EventCursor | null; readonly run?: EventCursor | null };
}

const isCursor = (value: string): value is EventCursor => value.trim() !== "";

/** A cursor as a client sent it. Blank is `invalid_id`; whether it exists is found out when it is used. */
export function eventCursor(value: string): EventCursor {
  if (isCursor(value)) return value;
  throw new AwakenError("invalid_id", "event cursor must be a non-blank string", { details: { kind: "event cursor" } });
}

function basisOf({ threadId, runId, kind, payload, visibility, causationId, correlationId }: EventDraft) {
  return { threadId, runId, kind, payload, visibility, causationId, correlationId };
}

/** Whether a repeated append says the same as the first one did; origin and schema version do not count. */
export function isSameEvent(first: EventDraft, again: EventDraft): boolean {
  return sameJson(basisOf(first), basisOf(again));
}

export type EventStart = { readonly type: "start" } | { readonly type: "after"; readonly cursor: EventCursor } | { readonly type: "now" };

/** The canonical log: ordered within a scope, kept until retention takes it. */
export interface EventStore {
  /**
   * All or none, in this order. A known idempotency key gives the event that it made before, or `idempotency_conflict` when
   * `isSameEvent` says no. Drafts that do not fit are `storage_validation`.
   */
  append(events: readonly EventAppend[]): Promise<readonly StoredEvent[]>;

  /** Strictly after the cursor. A cursor that is unknown, purged or of another scope is `cursor_expired`. */
  list(
    scope: EventScope,
    query: { readonly after?: EventCursor; readonly visibilities?: readonly EventVisibility[]; readonly limit?: number },
  ): Promise<Page<StoredEvent, EventCursor>>;

  /** The cursor of the newest event. */
  loadHead(scope: EventScope): Promise<EventCursor | undefined>;

  /**
   * Stored events, then live ones, each once and without a gap; `now` is the moment at which the promise resolves. The iteration ends
   * with the signal. A reader that retention overtook gets `cursor_expired`, a row missing inside what is kept of a thread is `data_integrity`;
   * what a deleted thread took out of the log of another one's run is passed over.
   */
  subscribe(scope: EventScope, from: EventStart, options: { readonly signal: AbortSignal }): Promise<AsyncIterable<StoredEvent>>;
}

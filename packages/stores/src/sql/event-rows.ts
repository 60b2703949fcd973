import { AwakenError, isJsonObject, type JsonObject } from "@awaken/contract";
import { type EventDraft, type EventVisibility, type StoredEvent, storedEvent } from "@awaken/contract/store";
import { encodeRecord } from "./blobs.ts";
import type { EncodedRow, Values } from "./columns.ts";
import { cursorOf, EMPTY_LOG, type EventBatch, type EventKey, eventIdAt, type Log, type LogHead } from "./event-log.ts";
import { numberOf, type Row, readRecord, textIn, textOf } from "./rows.ts";
import type { NumberedEvent } from "./subscription.ts";

/** The columns that say where the first event of a row stands in logs of this type. */
export const LOG_COLUMNS = {
  thread: { id: "thread_id", seq: "thread_seq" },
  run: { id: "run_id", seq: "run_seq" },
} as const;

export const EVENT_COLUMNS = "batch_id, thread_id, thread_seq, run_id, run_seq, count, created_at, record, parts";

/** An event of a run alone has no thread that its large parts could live with, so they stay in the row. */
export function eventValues(batch: EventBatch, blobBytes: number): EncodedRow {
  const { batchId, threadId = null, threadSeq = null, runId = null, runSeq = null, createdAt, drafts } = batch;
  const common = commonOf(drafts);
  // What is undefined is not in the JSON.
  const said = Object.fromEntries(["threadId", "runId", ...Object.keys(common)].map((key) => [key, undefined]));
  const events = drafts.map((draft) => ({ ...draft, ...said }));
  const { text, parts, blobs } = encodeRecord(
    { ...withoutUsual(common), events },
    threadId === null ? Number.POSITIVE_INFINITY : blobBytes,
  );
  return { values: [batchId, threadId, threadSeq, runId, runSeq, drafts.length, createdAt, text, parts], blobs };
}

const COMMON = ["schemaVersion", "visibility", "origin"] as const;
type Common = Partial<Pick<EventDraft, (typeof COMMON)[number]>>;

/** What a row does not say of its events. */
const USUAL = { visibility: "public", origin: "runtime" } as const;

/** What all events of a row say stands there once. */
function commonOf(drafts: readonly EventDraft[]): Common {
  const [first] = drafts;
  if (first === undefined) return {};
  const isCommon = (key: (typeof COMMON)[number]) => drafts.every((draft) => draft[key] === first[key]);
  return {
    ...(isCommon("schemaVersion") && { schemaVersion: first.schemaVersion }),
    ...(isCommon("visibility") && { visibility: first.visibility }),
    ...(isCommon("origin") && { origin: first.origin }),
  };
}

const withoutUsual = (common: Common): Common => {
  const { visibility, origin, ...rest } = common;
  const isUsual = visibility === USUAL.visibility && origin === USUAL.origin;
  return isUsual ? rest : common;
};

export const EVENT_KEY_COLUMNS = "writer_id, idempotency_key, thread_id, thread_seq, run_id, run_seq, created_at";

export function eventKeyValues({ writerId, key, threadId, threadSeq, runId, runSeq, createdAt }: EventKey): Values {
  return [writerId, key, threadId ?? null, threadSeq ?? null, runId ?? null, runSeq ?? null, createdAt];
}

/** The events of a row; `stored` is its JSON with the large parts put back. */
export function readBatch(row: Row, stored: unknown): readonly StoredEvent[] {
  const batchId = textOf(row, "batch_id");
  const { events, ...common }: JsonObject = isJsonObject(stored) ? stored : {};
  if (!Array.isArray(events) || events.length !== numberOf(row, "count")) {
    throw new AwakenError("storage_corrupt", `events '${batchId}' cannot be read`, { details: { record: "event", key: batchId } });
  }
  const [thread, run] = [firstIn(row, "thread"), firstIn(row, "run")];
  const createdAt = numberOf(row, "created_at");
  return events.map((event: unknown, index) => {
    const id = eventIdAt(batchId, index);
    const own: JsonObject = {
      eventId: id,
      createdAt,
      cursors: {
        ...(thread && { thread: cursorOf("thread", thread.seq + index, id) }),
        ...(run && { run: cursorOf("run", run.seq + index, id) }),
      },
      ...(thread && { threadId: thread.id }),
      ...(run && { runId: run.id }),
    };
    return readRecord(storedEvent, isJsonObject(event) ? { ...USUAL, ...common, ...event } : event, id, own);
  });
}

function firstIn(row: Row, type: Log["type"]): { readonly id: string; readonly seq: number } | undefined {
  const columns = LOG_COLUMNS[type];
  const id = textIn(row, columns.id);
  return id === undefined ? undefined : { id, seq: numberOf(row, columns.seq) };
}

/** The events of a row with their numbers in one of its logs. */
export function numbered(row: Row, events: readonly StoredEvent[], type: Log["type"]): readonly NumberedEvent[] {
  const first = numberOf(row, LOG_COLUMNS[type].seq);
  return events.map((event, index) => ({ seq: first + index, event }));
}

/** Of a row with `last_seq`, `last_at`, and `batch_id` and `count` of the newest events if they are kept. */
export function readHead(type: Log["type"], row: Row | undefined): LogHead {
  if (row === undefined || row["last_seq"] === null) return EMPTY_LOG;
  const head = { lastSeq: numberOf(row, "last_seq"), lastAt: numberOf(row, "last_at") };
  const batchId = textIn(row, "batch_id");
  if (batchId === undefined) return head;
  return { ...head, cursor: cursorOf(type, head.lastSeq, eventIdAt(batchId, numberOf(row, "count") - 1)) };
}

export const isVisible = ({ visibility }: StoredEvent, visibilities: readonly EventVisibility[] | undefined): boolean =>
  visibilities?.includes(visibility) ?? true;

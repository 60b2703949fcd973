import { dispatchId, isJsonObject } from "@awaken/contract";
import {
  type DispatchPosition,
  type DispatchRecord,
  dispatchRecord,
  type LastOpen,
  type LedgerEntry,
  ledgerEntry,
  type MessageRecord,
  messageRecord,
  type PendingRecord,
  pendingRecord,
} from "@awaken/contract/store";
import { ledgerTime } from "../plan/ledger-plan.ts";
import { type Encoded, encodeRecord } from "./blobs.ts";
import type { Value } from "./conditions.ts";
import { numberOf, type Row, readFast, readRecord, textOf } from "./rows.ts";

// What rows keep in columns of their own, in the order in which the engines insert them. `scope_id` stands before all of them.

export type Values = readonly Value[];

/** The values of a row, and what is stored beside it. */
export interface EncodedRow {
  readonly values: Values;
  readonly blobs: Encoded["blobs"];
}

const orNull = (value: string | number | undefined): Value => value ?? null;

export const MESSAGE_COLUMNS = "thread_id, seq, message_id, run_id, is_internal, record, parts";

/** `kept` is what the JSON of the row has of the message. */
export function messageRow(row: MessageRecord, blobBytes: number, kept: object = row.message): EncodedRow {
  const { threadId: thread, seq, message, ...record } = row;
  const { text, parts, blobs } = encodeRecord({ ...record, message: kept }, blobBytes);
  const isInternal = message.visibility === "internal" ? 1 : 0;
  return { values: [thread, seq, message.id, orNull(message.metadata?.runId), isInternal, text, parts], blobs };
}

export const messageKey = (row: Row): string => `${textOf(row, "thread_id")}#${numberOf(row, "seq")}`;

export function readMessage(row: Row, stored: unknown): MessageRecord {
  const own = { threadId: textOf(row, "thread_id"), seq: numberOf(row, "seq") };
  return readRecord(messageRecord, stored, messageKey(row), own);
}

export const DISPATCH_COLUMNS =
  "dispatch_id, thread_id, status, priority, dedupe_key, epoch, available_at, lease_until, created_at, updated_at, record";

/** `write` makes the JSON of the row. */
export function dispatchRow(dispatch: DispatchRecord, write: (record: DispatchRecord) => string = JSON.stringify): Values {
  const record = dispatchRecord.check(dispatch);
  const { dispatchId: id, threadId: thread, status, priority, dedupeKey, epoch, availableAt, createdAt, updatedAt } = record;
  const leaseUntil = record.status === "claimed" ? record.leaseUntil : null;
  const queue = [id, thread, status, priority, orNull(dedupeKey), epoch, availableAt, leaseUntil];
  return [...queue, createdAt, updatedAt, write(record)];
}

export const readLastOpen = (row: Row): LastOpen => ({
  createdAt: numberOf(row, "created_at"),
  dispatchId: dispatchId(textOf(row, "dispatch_id")),
  availableAt: numberOf(row, "available_at"),
});

export const dispatchPosition = ({ createdAt, dispatchId: id }: DispatchRecord): DispatchPosition => ({ createdAt, dispatchId: id });

export const LEDGER_COLUMNS = "idempotency_key, thread_id, run_id, status, updated_at, record, parts";

export function ledgerRow(entry: LedgerEntry, blobBytes: number): EncodedRow {
  const { idempotencyKey: _key, threadId: _thread, runId: _run, ...record } = entry;
  const { text, parts, blobs } = encodeRecord(record, blobBytes);
  return { values: [entry.idempotencyKey, entry.threadId, entry.runId, entry.status, ledgerTime(entry), text, parts], blobs };
}

/** Keys that the row has in columns of its own are not in its record; in rows of older versions they are in both. */
export function readLedger(row: Row, stored: unknown): LedgerEntry {
  const key = textOf(row, "idempotency_key");
  const own = { idempotencyKey: key, threadId: textOf(row, "thread_id"), runId: textOf(row, "run_id") };
  return readFast(ledgerEntry, isJsonObject(stored) ? { ...stored, ...own } : stored, key);
}

export const PENDING_COLUMNS = "thread_id, pending_id, place, record, parts";

/** `place` orders the queue and may have gaps; positions are counted when the queue is read. */
export function pendingRow({ position: _, ...entry }: PendingRecord, place: number, blobBytes: number): EncodedRow {
  const { text, parts, blobs } = encodeRecord(
    { ...entry, message: { ...entry.message }, deliveryMode: { ...entry.deliveryMode } },
    blobBytes,
  );
  return { values: [entry.threadId, entry.pendingId, place, text, parts], blobs };
}

export const pendingKey = (row: Row): string => `${textOf(row, "thread_id")}/${textOf(row, "pending_id")}`;

/** Rows of one thread by place. */
export const readPending = (row: Row, stored: unknown, index: number): PendingRecord =>
  readRecord(pendingRecord, stored, pendingKey(row), { position: index + 1 });

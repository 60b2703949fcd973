import { AwakenError } from "../error.ts";
import type { MessageId, ThreadId } from "../ids.ts";
import {
  DEFAULT_DELIVERY,
  type NewPending,
  PENDING_SCHEMA_VERSION,
  type PendingEdit,
  type PendingQueue,
  type PendingRecord,
  pendingRecord,
} from "./pending.ts";

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

/** 64-bit FNV-1a over id, position and revision of each entry, as 16 hex digits. */
export function queueRevision(entries: readonly PendingRecord[]): string {
  let hash = FNV_OFFSET;
  const text = entries.map((entry) => JSON.stringify([entry.pendingId, entry.position, entry.revision])).join("");
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * FNV_PRIME) & MASK;
  return hash.toString(16).padStart(16, "0");
}

export const toQueue = (entries: readonly PendingRecord[]): PendingQueue => ({ entries, revision: queueRevision(entries) });

export interface AppendPlace {
  readonly threadId: ThreadId;
  /** Entries that are in the queue already. */
  readonly length: number;
  readonly now: number;
}

/** The records of new entries at the end of a queue; `storage_validation` when one cannot be stored. */
export function toPendingRecords(messages: readonly NewPending[], { threadId, length, now }: AppendPlace): readonly PendingRecord[] {
  return messages.map(({ message, deliveryMode }, index) =>
    pendingRecord.check({
      schemaVersion: PENDING_SCHEMA_VERSION,
      pendingId: message.id,
      threadId,
      position: length + index + 1,
      message,
      revision: 1,
      deliveryMode: { ...DEFAULT_DELIVERY, ...deliveryMode },
      createdAt: now,
      updatedAt: now,
    }),
  );
}

/** `version_conflict` on a stale revision, `storage_validation` when the edit changes the id or breaks a shape rule. */
export function editPending(entry: PendingRecord, edit: PendingEdit, now: number): PendingRecord {
  checkPendingRevision(entry, edit.revision);
  return pendingRecord.check({
    ...entry,
    message: edit.message ?? entry.message,
    deliveryMode: { ...entry.deliveryMode, ...edit.deliveryMode },
    revision: entry.revision + 1,
    updatedAt: now,
  });
}

export function checkPendingRevision(entry: PendingRecord, revision: number): void {
  if (entry.revision === revision) return;
  throw new AwakenError("version_conflict", `pending message '${entry.pendingId}' is at revision ${entry.revision}, not ${revision}`, {
    details: { pendingId: entry.pendingId, expected: revision, actual: entry.revision },
  });
}

/** The same entries in another order; positions are dense again and entries that did not move are the same objects. */
export function reorderPending(entries: readonly PendingRecord[], order: readonly MessageId[], revision: string): readonly PendingRecord[] {
  const actual = queueRevision(entries);
  if (actual !== revision) {
    throw new AwakenError("version_conflict", "the pending queue has changed", { details: { expected: revision, actual } });
  }
  const byId = new Map(entries.map((entry) => [entry.pendingId, entry]));
  const moved = order.flatMap((id) => byId.get(id) ?? []);
  if (moved.length !== entries.length || order.length !== entries.length || new Set(order).size !== order.length) {
    throw new AwakenError("storage_validation", "an order must name every pending message once");
  }
  return renumberPending(moved);
}

export function renumberPending(entries: readonly PendingRecord[]): readonly PendingRecord[] {
  return entries.map((entry, index) => (entry.position === index + 1 ? entry : { ...entry, position: index + 1 }));
}

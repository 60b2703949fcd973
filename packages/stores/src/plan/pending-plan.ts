import { AwakenError, type MessageId, type RunId, type ThreadId } from "@awaken/contract";
import {
  type NewPending,
  type PendingConsumption,
  type PendingRecord,
  selectPending,
  type ThreadCommit,
  toPendingRecords,
} from "@awaken/contract/store";

/** Those of the ids that are in the log. */
export type Committed = (ids: readonly MessageId[]) => ReadonlySet<string>;

export interface PendingReads {
  pending(): readonly PendingRecord[];
  committed(ids: readonly MessageId[]): ReadonlySet<string>;
}

/** Rows to add at the end of the queue and rows to take out. A row that is added and taken in one commit is in neither. */
export interface PendingPlan {
  readonly added: readonly PendingRecord[];
  readonly removed: readonly MessageId[];
}

const NOTHING: PendingPlan = { added: [], removed: [] };

export function planPending({ threadId, runId, pending }: ThreadCommit, reads: PendingReads, now: number): PendingPlan {
  if (pending === undefined) return NOTHING;
  const queue = reads.pending();
  const appended = planAppend({ threadId, messages: pending.append ?? [], now }, queue, (ids) => reads.committed(ids));
  const taken = new Set(pending.consume === undefined ? [] : checkSelection([...queue, ...appended], pending.consume, runId));
  return {
    added: appended.filter((entry) => !taken.has(entry.pendingId)),
    removed: queue.filter((entry) => taken.has(entry.pendingId)).map((entry) => entry.pendingId),
  };
}

interface Append {
  readonly threadId: ThreadId;
  readonly messages: readonly NewPending[];
  readonly now: number;
}

/** New rows behind `queue`. */
export function planAppend(
  { threadId, messages, now }: Append,
  queue: readonly PendingRecord[],
  isIn: Committed,
): readonly PendingRecord[] {
  if (messages.length === 0) return [];
  const records = toPendingRecords(messages, { threadId, length: queue.length, now });
  const waiting = new Set(queue.map((entry) => entry.pendingId));
  const committed = isIn(records.map((record) => record.pendingId));
  for (const { pendingId } of records) {
    if (committed.has(pendingId)) throw alreadyConsumed(pendingId);
    if (waiting.has(pendingId)) {
      throw new AwakenError("storage_already_exists", `message '${pendingId}' is pending already`, { details: { pendingId } });
    }
    waiting.add(pendingId);
  }
  return records;
}

export const alreadyConsumed = (pendingId: MessageId): AwakenError =>
  new AwakenError("already_consumed", `message '${pendingId}' is in the log already`, { details: { pendingId } });

function checkSelection(queue: readonly PendingRecord[], { boundary, entries }: PendingConsumption, runId: RunId): readonly MessageId[] {
  const selected = selectPending(queue, boundary, runId);
  const isSame = selected.length === entries.length && selected.every((entry, index) => isEntry(entry, entries[index]));
  if (isSame) return selected.map((entry) => entry.pendingId);
  throw new AwakenError("pending_selection_conflict", `the pending messages of run '${runId}' at '${boundary}' have changed`, {
    details: {
      expected: entries.map(({ pendingId, revision }) => ({ pendingId, revision })),
      actual: selected.map(({ pendingId, revision }) => ({ pendingId, revision })),
    },
  });
}

const isEntry = (entry: PendingRecord, expected: PendingConsumption["entries"][number] | undefined): boolean =>
  entry.pendingId === expected?.pendingId && entry.revision === expected.revision;

import {
  AwakenError,
  checkPendingRevision,
  clampLimit,
  editPending,
  type MessageId,
  type PendingRecord,
  type PendingStore,
  renumberPending,
  reorderPending,
  selectPending,
  type ThreadCommit,
  type ThreadId,
  toPendingRecords,
  toQueue,
} from "@awaken/contract";
import { seqOf } from "./messages.ts";
import { own, share } from "./own.ts";
import { type Access, type Change, type Tables, type ThreadRow, threadRow } from "./tables.ts";

export function pendingPort({ read, write }: Access): PendingStore {
  return {
    append: (threadId, messages) =>
      write((change) => {
        const row = threadRow(change, threadId);
        return appendPending(change, row, { threadId, pending: { append: messages }, logLength: row.messages.length }).map(share);
      }),

    load: (threadId) => read((tables) => toQueue((tables.threads.get(threadId)?.pending ?? []).map(share))),

    update: (threadId, id, edit) =>
      write((change) => {
        const { row, entry } = findEntry(change.tables, threadId, id);
        const edited = own(editPending(entry, edit, change.now));
        change.journal.assign(
          row,
          "pending",
          row.pending.map((each) => (each === entry ? edited : each)),
        );
        return share(edited);
      }),

    retract: (threadId, id, revision) =>
      write(({ tables, journal }) => {
        const { row, entry } = findEntry(tables, threadId, id);
        checkPendingRevision(entry, revision);
        journal.assign(row, "pending", renumberPending(row.pending.filter((each) => each !== entry)));
      }),

    reorder: (threadId, order, revision) =>
      write((change) => {
        const row = threadRow(change, threadId);
        change.journal.assign(row, "pending", reorderPending(row.pending, order, revision));
        return toQueue(row.pending.map(share));
      }),

    listUnattended: (limit) =>
      read((tables) => {
        const found: ThreadId[] = [];
        for (const [id, row] of tables.threads) {
          if (row.pending.length === 0 || isAttended(tables, row)) continue;
          if (found.push(id) >= clampLimit(limit)) break;
        }
        return found;
      }),
  };
}

const isAttended = (tables: Tables, row: ThreadRow): boolean =>
  (row.dispatchIds?.open.size ?? 0) > 0 || row.runIds.some((runId) => tables.runs.get(runId)?.status === "running");

function findEntry(tables: Tables, threadId: ThreadId, id: MessageId): { row: ThreadRow; entry: PendingRecord } {
  const row = tables.threads.get(threadId);
  const entry = row?.pending.find((each) => each.pendingId === id);
  if (row !== undefined && entry !== undefined) return { row, entry };
  if (seqOf(row, id) !== undefined) throw consumed(threadId, id);
  throw new AwakenError("storage_not_found", `thread '${threadId}' has no pending message '${id}'`);
}

const consumed = (threadId: ThreadId, id: MessageId): AwakenError =>
  new AwakenError("already_consumed", `pending message '${id}' of thread '${threadId}' was consumed`, {
    details: { threadId, pendingId: id },
  });

interface Append extends Pick<ThreadCommit, "threadId" | "pending"> {
  /** Rows of the log before the commit: it may consume at once what it appends. */
  readonly logLength: number;
}

function appendPending({ journal, now }: Change, row: ThreadRow, { threadId, pending, logLength }: Append): readonly PendingRecord[] {
  if (pending?.append === undefined) return [];
  const known = new Set(row.pending.map((entry) => entry.pendingId));
  const records = own(toPendingRecords(pending.append, { threadId, length: row.pending.length, now }));
  for (const { pendingId } of records) {
    if ((seqOf(row, pendingId) ?? Number.POSITIVE_INFINITY) <= logLength) throw consumed(threadId, pendingId);
    if (known.has(pendingId)) throw new AwakenError("storage_already_exists", `message '${pendingId}' is pending already`);
    known.add(pendingId);
  }
  journal.assign(row, "pending", [...row.pending, ...records]);
  return records;
}

/** Appends and consumes what a commit says. */
export function writePending(change: Change, row: ThreadRow, commit: ThreadCommit): void {
  if (commit.pending === undefined) return;
  const logLength = row.messages.length - (commit.messageDelta?.messages.length ?? 0);
  appendPending(change, row, { ...commit, logLength });
  const { consume } = commit.pending;
  if (consume === undefined) return;
  const selected = selectPending(row.pending, consume.boundary, commit.runId);
  const { entries } = consume;
  const isSame = selected.every(({ pendingId, revision }, index) => {
    const entry = entries[index];
    return entry?.pendingId === pendingId && entry.revision === revision;
  });
  if (!isSame || selected.length !== entries.length) {
    throw new AwakenError("pending_selection_conflict", `other messages than expected enter run '${commit.runId}'`, {
      details: {
        threadId: commit.threadId,
        expected: entries.map((entry) => entry.pendingId),
        actual: selected.map((entry) => entry.pendingId),
      },
    });
  }
  change.journal.assign(row, "pending", renumberPending(row.pending.filter((entry) => !selected.includes(entry))));
}

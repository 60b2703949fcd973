import { AwakenError, type MessageId, type ThreadId } from "@awaken/contract";
import {
  checkPendingRevision,
  clampLimit,
  editPending,
  type PendingRecord,
  type PendingStore,
  renumberPending,
  reorderPending,
  toQueue,
} from "@awaken/contract/store";
import { alreadyConsumed, type PendingPlan, planAppend } from "../plan/pending-plan.ts";
import { countOf, idsOf } from "./ids.ts";
import { seqOf } from "./messages.ts";
import { own } from "./own.ts";
import { ThreadReads } from "./reads.ts";
import { share } from "./share.ts";
import { type Access, type Change, type Tables, type ThreadRow, threadRow } from "./tables.ts";

export function pendingPort({ read, write }: Access): PendingStore {
  return {
    append: (threadId, messages) =>
      write((change) => {
        const row = threadRow(change.tables, threadId);
        const added = own(
          planAppend({ threadId, messages, now: change.now }, row.pending, (ids) => new ThreadReads(change.tables, row).committed(ids)),
        );
        change.journal.assign(row, "pending", [...row.pending, ...added]);
        return added.map(share);
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
        const row = threadRow(change.tables, threadId);
        change.journal.assign(row, "pending", reorderPending(row.pending, order, revision));
        return toQueue(row.pending.map(share));
      }),

    listUnattended: (limit, after = "") =>
      read((tables) => {
        const found: ThreadId[] = [];
        for (const [id, row] of tables.threads) {
          if (id > after && row.pending.length > 0 && !isAttended(tables, row)) found.push(id);
        }
        return found.sort().slice(0, clampLimit(limit));
      }),
  };
}

const isAttended = (tables: Tables, row: ThreadRow): boolean =>
  countOf(row.openIds) > 0 || idsOf(row.runIds).some((runId) => tables.runs.get(runId)?.status === "running");

function findEntry(tables: Tables, threadId: ThreadId, id: MessageId): { row: ThreadRow; entry: PendingRecord } {
  const row = tables.threads.get(threadId);
  const entry = row?.pending.find((each) => each.pendingId === id);
  if (row !== undefined && entry !== undefined) return { row, entry };
  if (seqOf(row, id) !== undefined) throw alreadyConsumed(id);
  throw new AwakenError("storage_not_found", `thread '${threadId}' has no pending message '${id}'`);
}

/** Appends and consumes what a commit says. */
export function writePending({ journal }: Change, row: ThreadRow, { added, removed }: PendingPlan): void {
  if (added.length + removed.length === 0) return;
  const gone = new Set(removed);
  journal.assign(row, "pending", renumberPending([...row.pending.filter(({ pendingId }) => !gone.has(pendingId)), ...own(added)]));
}

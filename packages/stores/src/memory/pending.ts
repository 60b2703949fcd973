import { AwakenError, type MessageId, type ThreadId } from "@awaken/contract";
import {
  checkPendingRevision,
  clampLimit,
  editPending,
  type PendingRecord,
  type PendingStore,
  renumberPending,
  reorderPending,
  type ThreadCommit,
  toQueue,
} from "@awaken/contract/store";
import { alreadyConsumed, type Committed, planAppend, planPending } from "../plan/pending-plan.ts";
import { seqOf } from "./messages.ts";
import { own, share } from "./own.ts";
import { type Access, type Change, type Tables, type ThreadRow, threadRow } from "./tables.ts";

export function pendingPort({ read, write }: Access): PendingStore {
  return {
    append: (threadId, messages) =>
      write((change) => {
        const row = threadRow(change, threadId);
        const added = own(planAppend({ threadId, messages, now: change.now }, row.pending, committedIn(row)));
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
  if (seqOf(row, id) !== undefined) throw alreadyConsumed(id);
  throw new AwakenError("storage_not_found", `thread '${threadId}' has no pending message '${id}'`);
}

/** Appends and consumes what a commit says. The log has its messages already: what it appends it may consume at once. */
export function writePending({ journal, now }: Change, row: ThreadRow, commit: ThreadCommit): void {
  if (commit.pending === undefined) return;
  const logLength = row.messages.length - (commit.messageDelta?.messages.length ?? 0);
  const { added, removed } = planPending(commit, { pending: () => row.pending, committed: committedIn(row, logLength) }, now);
  const gone = new Set(removed);
  journal.assign(row, "pending", renumberPending([...row.pending.filter(({ pendingId }) => !gone.has(pendingId)), ...own(added)]));
}

/** Those of the ids that are among the first rows of the log. */
const committedIn =
  (row: ThreadRow, logLength = row.messages.length): Committed =>
  (ids) =>
    new Set(ids.filter((id) => (seqOf(row, id) ?? Number.POSITIVE_INFINITY) <= logLength));

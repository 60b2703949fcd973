import { AwakenError } from "@awaken/contract";
import {
  checkLineage,
  patchThread,
  type ThreadFilter,
  type ThreadPosition,
  type ThreadRecord,
  type ThreadStore,
  toThreadRecord,
} from "@awaken/contract/store";
import { deleteThread } from "./delete-thread.ts";
import { ancestorsOf } from "./lineage.ts";
import { own } from "./own.ts";
import { compareText, pickFirst } from "./pick.ts";
import { share } from "./share.ts";
import { type Access, type Change, type Tables, type ThreadRow, threadRow } from "./tables.ts";

/** What runs do not ask for: whoever lists threads and changes them himself. */
export type ThreadQueries = Omit<ThreadStore, "load" | "loadState" | "loadHead">;

export function threadQueries({ read, write }: Access): ThreadQueries {
  return {
    create: (thread) =>
      write((change) => {
        const row = threadRow(change.tables, thread.id);
        if (row.record !== undefined) throw new AwakenError("storage_already_exists", `thread '${thread.id}' exists already`);
        return writeRecord(change, row, toThreadRecord(thread, change.now));
      }),

    update: (id, patch) =>
      write((change) => {
        const row = change.tables.threads.get(id);
        const record = row?.record;
        if (row === undefined || record === undefined) throw new AwakenError("storage_not_found", `thread '${id}' does not exist`);
        return writeRecord(change, row, patchThread(record, patch, change.now));
      }),

    delete: (id, children) => write((change) => deleteThread(change, id, children)),

    list: ({ after, limit, ...filter }) =>
      read((tables) => {
        const isBehind = (thread: ThreadRecord) => after === undefined || compareThreads(positionOf(thread), after) > 0;
        const behind = select(tables, (thread) => matches(thread, filter) && isBehind(thread));
        const page = pickFirst(behind, (a, b) => compareThreads(positionOf(a), positionOf(b)), limit);
        const last = page.hasMore ? page.items.at(-1) : undefined;
        return { items: page.items.map(share), ...(last === undefined ? undefined : { next: positionOf(last) }) };
      }),

    count: (filter) => read((tables) => [...select(tables, (thread) => matches(thread, filter))].length),
  };
}

function writeRecord({ tables, journal }: Change, row: ThreadRow, record: ThreadRecord): ThreadRecord {
  checkLineage(record, ancestorsOf(tables, record.id, record.parentThreadId));
  const owned = own(record);
  journal.assign(row, "record", owned);
  return share(owned);
}

function* select(tables: Tables, accepts: (thread: ThreadRecord) => boolean): Iterable<ThreadRecord> {
  for (const row of tables.threads.values()) {
    const { record } = row;
    if (record !== undefined && accepts(record)) yield record;
  }
}

function matches(thread: ThreadRecord, { resourceId, lineage }: ThreadFilter): boolean {
  if (resourceId !== undefined && thread.resourceId !== resourceId) return false;
  if (lineage === undefined) return true;
  return thread.parentThreadId === (lineage.type === "root" ? undefined : lineage.threadId);
}

const positionOf = ({ id, metadata }: ThreadRecord): ThreadPosition => ({ updatedAt: metadata.updatedAt, id });

const compareThreads = (a: ThreadPosition, b: ThreadPosition): number => b.updatedAt - a.updatedAt || compareText(a.id, b.id);

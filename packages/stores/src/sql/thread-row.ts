import { threadId } from "@awaken/contract";
import { type ThreadPosition, type ThreadRecord, threadRecord } from "@awaken/contract/store";
import type { Values } from "./columns.ts";
import type { ThreadRow } from "./commit-plan.ts";
import { newIncarnation } from "./env.ts";
import { jsonOf, numberOf, type Row, textIn, textOf } from "./rows.ts";

/** Those that a write changes. */
export const THREAD_COLUMNS =
  "thread_id, updated_at, resource_id, parent_thread_id, latest_run_id, open_run_id, message_count, folded, run_count, record";

/** Those that a reader of the whole row needs. */
export const THREAD_ROW = "thread_id, message_count, folded, run_count, record, incarnation";

export function threadValues({ record, messageCount, folded, runCount }: ThreadRow): Values {
  const { id, metadata, resourceId = null, parentThreadId = null, latestRun, openRunId = null } = record;
  const columns = [id, metadata.updatedAt, resourceId, parentThreadId, latestRun?.id ?? null, openRunId, messageCount, folded, runCount];
  return [...columns, JSON.stringify(record)];
}

export const readThread = (row: Row): ThreadRecord => threadRecord.read(jsonOf(row, "record"), textOf(row, "thread_id"));

/** `known` is the record of this very row. */
export const readThreadRow = (row: Row, known?: ThreadRecord): ThreadRow => ({
  record: known ?? readThread(row),
  messageCount: numberOf(row, "message_count"),
  folded: numberOf(row, "folded"),
  runCount: numberOf(row, "run_count"),
  incarnation: textIn(row, "incarnation") ?? null,
});

export const emptyThread = (record: ThreadRecord): ThreadRow => ({
  record,
  messageCount: 0,
  folded: 0,
  runCount: 0,
  incarnation: newIncarnation(),
});

export const threadPosition = (thread: ThreadRecord): ThreadPosition => ({ updatedAt: thread.metadata.updatedAt, id: thread.id });

export const readThreadIds = (rows: readonly Row[]) => rows.map((row) => threadId(textOf(row, "thread_id")));

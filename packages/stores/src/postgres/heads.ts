import type { ThreadId } from "@awaken/contract";
import { effectiveMessages, type ThreadHead, threadState } from "@awaken/contract/store";
import type { ThreadRow } from "../sql/commit-plan.ts";
import { jsonOf, numberOf, type Row, textIn, textOf } from "../sql/rows.ts";
import { readRun } from "../sql/run-row.ts";
import { readThread } from "../sql/thread-row.ts";
import { isBehind, type ViewCache } from "../sql/view-cache.ts";
import type { Access } from "./access.ts";
import { bodiesOf } from "./blobs.ts";
import type { Parameter } from "./driver.ts";
import { readMessageRow } from "./messages.ts";
import { sql } from "./statement.ts";

export type KnownView = ReturnType<ViewCache["find"]>;

/** What a reader knows of the log, as it is now: the entry goes on while his statement is under way. */
export function knownView({ views, scopeId }: Access, id: ThreadId): KnownView {
  const known = views?.find(scopeId, id);
  return known && { ...known };
}

/** Columns of the rows that one statement gives of several tables: they are told apart by `part`. */
export const PARTS = "part, thread_id, id, seq, record, parts, bodies, folded, run_count, incarnation";

/** A row of one part: what it has, in the order of the columns. */
export const partOf = (part: string, threadId: string, id: string, seq: string, record: string, rest = "NULL, NULL::json"): string =>
  `SELECT '${part}' AS part, ${threadId} AS thread_id, ${id} AS id, ${seq} AS seq, ${record} AS record, ${rest}, NULL, NULL, NULL`;

/** The thread `t` of a head, if `condition` holds; `known` are the parameters with what is known of its view. */
export const headThread = (known: { readonly incarnation: string; readonly count: string }, condition = "true"): string =>
  `t AS (SELECT *, CASE WHEN incarnation IS NOT DISTINCT FROM ${known.incarnation} AND ${known.count}::bigint BETWEEN folded AND message_count
       THEN ${known.count}::bigint ELSE folded END AS seen
     FROM ~thread WHERE scope_id = $1 AND thread_id = $2 AND (message_count > 0 OR run_count > 0) AND ${condition})`;

export const knownValues = (known: KnownView): readonly Parameter[] => [known?.incarnation ?? null, known?.count ?? -1];

const runPart = (id: string): string =>
  `${partOf("run", "r.thread_id", "r.run_id", "NULL", "r.record")} FROM ~run r WHERE r.scope_id = $1 AND r.run_id = (${id})`;

/**
 * Everything of the head of `t`, whose state is in the column of bodies. Messages that are known stay out. What comes from `t` is asked for as
 * single values: joins and lists may be planned, on tables that are small then, as walks through the whole of an index.
 */
export const HEAD_PARTS = `SELECT 'thread' AS part, thread_id, NULL AS id, message_count AS seq, record, NULL AS parts, state AS bodies,
       folded, run_count, incarnation FROM t
     UNION ALL ${runPart("SELECT latest_run_id FROM t")}
     UNION ALL ${runPart("SELECT open_run_id FROM t WHERE open_run_id IS DISTINCT FROM latest_run_id")}
     UNION ALL (${partOf("message", "message.thread_id", "NULL", "message.seq", "message.record", `message.parts, ${bodiesOf("message")}`)}
       FROM ~message message WHERE message.scope_id = $1 AND message.thread_id = $2 AND message.seq > (SELECT seen FROM t) ORDER BY message.seq)`;

export const SELECT_HEAD = `WITH ${headThread({ incarnation: "$3", count: "$4" })} ${HEAD_PARTS}`;

export const rowsOf = (rows: readonly Row[], part: string): readonly Row[] => rows.filter((row) => row["part"] === part);

/** The row of a part, under the name that its id has in its own table. */
export const withId = (row: Row, column: string): Row => ({ ...row, [column]: row["id"] });

export const readPartRun = (row: Row) => readRun(withId(row, "run_id"));

export interface FoundHead {
  readonly head: ThreadHead;
  readonly row: ThreadRow;
}

/** Undefined when there is none; `again` when the view needs more than the rows behind those that are known. */
export function readHead(access: Access, id: ThreadId, known: KnownView, rows: readonly Row[]): FoundHead | "again" | undefined {
  const [threadRow] = rowsOf(rows, "thread");
  if (threadRow === undefined) return undefined;
  const thread = readThread(threadRow);
  const row: ThreadRow = {
    record: thread,
    incarnation: textIn(threadRow, "incarnation") ?? null,
    messageCount: numberOf(threadRow, "seq"),
    folded: numberOf(threadRow, "folded"),
    runCount: numberOf(threadRow, "run_count"),
  };
  const messages = readView(access, id, row, known, rowsOf(rows, "message"));
  if (messages === undefined) return "again";
  const runs = rowsOf(rows, "run").map(readPartRun);
  const latestRun = runs.find((run) => run.runId === thread.latestRun?.id);
  const openRun = runs.find((run) => run.runId === thread.openRunId);
  const state = threadRow["bodies"] === null ? undefined : threadState.read(jsonOf(threadRow, "bodies"), textOf(threadRow, "thread_id"));
  const { messageCount } = row;
  const own = { ...(latestRun && { latestRun }), ...(openRun && { openRun }), ...(state && { state }) };
  return { head: { thread, messages, messageCount, ...own }, row };
}

/** Undefined when the view needs more than the rows behind those that are known. */
function readView({ scopeId, views }: Access, id: ThreadId, log: ThreadRow, known: KnownView, rows: readonly Row[]) {
  const messages = rows.map(readMessageRow).map(({ seq, message }) => ({ seq, message }));
  messages.sort((a, b) => a.seq - b.seq);
  if (views === undefined) return effectiveMessages(messages);
  if (known !== undefined && isBehind(known, log)) return views.extend(scopeId, id, log, messages);
  return views.replace(scopeId, id, log, messages);
}

/** From one moment. */
export async function loadHead(access: Access, id: ThreadId, known: KnownView): Promise<FoundHead | undefined> {
  const { scopeId, session } = access;
  const found = readHead(access, id, known, await session.read(sql(SELECT_HEAD, scopeId, id, ...knownValues(known))));
  if (found === "again") return loadHead(access, id, undefined);
  if (found === undefined) access.known?.absent(scopeId, id);
  return found;
}

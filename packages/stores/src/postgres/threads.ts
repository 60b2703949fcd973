import { AwakenError, type PersistedState, type ScopeId, type ThreadId } from "@awaken/contract";
import {
  checkLineage,
  clampLimit,
  effectiveMessages,
  patchThread,
  type ThreadHead,
  type ThreadRecord,
  type ThreadStore,
  threadState,
  toThreadRecord,
} from "@awaken/contract/store";
import type { ThreadRow } from "../sql/commit-plan.ts";
import { afterThread, Conditions, threadConditions } from "../sql/conditions.ts";
import type { LastWritten } from "../sql/last-written.ts";
import { jsonOf, numberOf, type Row, textIn, textOf, toPage } from "../sql/rows.ts";
import { readRun } from "../sql/run-row.ts";
import {
  emptyThread,
  readThread,
  readThreadIds,
  readThreadRow,
  THREAD_COLUMNS,
  THREAD_ROW,
  threadPosition,
  threadValues,
} from "../sql/thread-row.ts";
import { isBehind, type LogState, type ViewCache } from "../sql/view-cache.ts";
import type { Access } from "./access.ts";
import { bodiesOf } from "./blobs.ts";
import { deleteThreads } from "./delete-threads.ts";
import { lockLineage, lockThread } from "./locks.ts";
import { readMessageRow } from "./messages.ts";
import type { Finish, Tx } from "./session.ts";
import { type Statement, sql } from "./statement.ts";

const selectThread = (scopeId: ScopeId, id: ThreadId): Statement =>
  sql(`SELECT ${THREAD_ROW} FROM ~thread WHERE scope_id = $1 AND thread_id = $2`, scopeId, id);

const UPDATE_THREAD = `UPDATE ~thread SET updated_at = $3, resource_id = $4, parent_thread_id = $5, latest_run_id = $6, open_run_id = $7,
      message_count = $8, folded = $9, run_count = $10, record = $11, state = coalesce($12, state)
    WHERE scope_id = $1 AND thread_id = $2`;
/** Gives a row if the thread is as it was remembered. */
const UPDATE_KNOWN_THREAD = `${UPDATE_THREAD} AND record::text = $13 AND incarnation IS NOT DISTINCT FROM $14
    AND message_count = $15 AND run_count = $16 RETURNING 1`;

/** The row of a thread, as `known_thread`, if it is still the one of before. */
export function writeKnownThread(
  scopeId: ScopeId,
  { before, after, state, written }: ThreadWrite & { readonly before: ThreadRow },
): Statement {
  const { values } = writeThreadRow(scopeId, before, after, state, written);
  const { record, incarnation, messageCount, runCount } = before;
  return {
    text: UPDATE_KNOWN_THREAD,
    values: [...values, JSON.stringify(record), incarnation, messageCount, runCount],
    name: "known_thread",
  };
}

export interface ThreadWrite {
  readonly after: ThreadRow;
  readonly state: PersistedState | undefined;
  readonly written: LastWritten<ThreadRecord>;
}

/** What a write leaves out of the state stays. */
export function writeThreadRow(
  scopeId: ScopeId,
  before: ThreadRow | undefined,
  after: ThreadRow,
  state?: PersistedState,
  written?: LastWritten<ThreadRecord>,
): Statement {
  const columns = threadValues(after);
  written?.put(scopeId, after.record.id, String(columns.at(-1)), after.record);
  const values = [scopeId, ...columns, state === undefined ? null : JSON.stringify(state)];
  if (before === undefined) {
    const text = `INSERT INTO ~thread (scope_id, ${THREAD_COLUMNS}, state, incarnation)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;
    return sql(text, ...values, after.incarnation);
  }
  return sql(UPDATE_THREAD, ...values);
}

/** From this thread up to the root, as far as they exist; a cycle ends the walk. */
export const selectLineage = (scopeId: ScopeId, id: ThreadId): Statement =>
  sql(
    `WITH RECURSIVE up (thread_id, parent_thread_id, depth) AS (
       SELECT thread_id, parent_thread_id, 0 FROM ~thread WHERE scope_id = $1 AND thread_id = $2
       UNION SELECT t.thread_id, t.parent_thread_id, up.depth + 1 FROM up
       JOIN ~thread t ON t.scope_id = $1 AND t.thread_id = up.parent_thread_id
       WHERE up.depth < 10000
     ) SELECT thread_id FROM up ORDER BY depth`,
    ...[scopeId, id],
  );

async function checkParent(tx: Tx, scopeId: ScopeId, record: ThreadRecord): Promise<void> {
  if (record.parentThreadId === undefined) return;
  const [, rows = []] = await tx.read(lockLineage(scopeId), selectLineage(scopeId, record.parentThreadId));
  checkLineage(record, readThreadIds(rows));
}

type Known = ReturnType<ViewCache["find"]>;

/** Everything of a head in one statement, and so from one moment: rows are told apart by `part`. Messages that are known stay out. */
const selectHead = (scopeId: ScopeId, id: ThreadId, known: Known): Statement =>
  sql(
    `WITH t AS (
       SELECT *, CASE WHEN incarnation IS NOT DISTINCT FROM $3 AND $4::bigint BETWEEN folded AND message_count THEN $4::bigint ELSE folded END AS seen
       FROM ~thread WHERE scope_id = $1 AND thread_id = $2 AND (message_count > 0 OR run_count > 0))
     SELECT 'thread' AS part, thread_id, NULL AS run_id, message_count AS seq, record, NULL AS parts, NULL::json AS bodies,
       folded, incarnation FROM t
     UNION ALL SELECT 'state', thread_id, NULL, NULL, state, NULL, NULL, NULL, NULL FROM t WHERE state IS NOT NULL
     UNION ALL SELECT 'run', r.thread_id, r.run_id, NULL, r.record, NULL, NULL, NULL, NULL FROM t
       JOIN ~run r ON r.scope_id = t.scope_id AND r.run_id IN (t.latest_run_id, t.open_run_id)
     UNION ALL SELECT 'message', message.thread_id, NULL, message.seq, message.record, message.parts, ${bodiesOf("message")}, NULL, NULL FROM t
       JOIN ~message message ON message.scope_id = t.scope_id AND message.thread_id = t.thread_id AND message.seq > t.seen`,
    ...[scopeId, id, known?.incarnation ?? null, known?.count ?? -1],
  );

/** Undefined when the view needs more than the rows behind those that are known. */
function readView({ scopeId, views }: Access, id: ThreadId, log: LogState, known: Known, rows: readonly Row[]) {
  const messages = rows.map(readMessageRow).map(({ seq, message }) => ({ seq, message }));
  messages.sort((a, b) => a.seq - b.seq);
  if (views === undefined) return effectiveMessages(messages);
  if (known !== undefined && isBehind(known, log)) return views.extend(scopeId, id, log, messages);
  return views.replace(scopeId, id, log, messages);
}

async function loadHead(access: Access, id: ThreadId, known: Known): Promise<ThreadHead | undefined> {
  const rows = await access.session.read(selectHead(access.scopeId, id, known));
  const of = (part: string) => rows.filter((row) => row["part"] === part);
  const [threadRow] = of("thread");
  if (threadRow === undefined) {
    access.known?.absent(access.scopeId, id);
    return undefined;
  }
  const thread = readThread(threadRow);
  const log: LogState = {
    incarnation: textIn(threadRow, "incarnation") ?? null,
    messageCount: numberOf(threadRow, "seq"),
    folded: numberOf(threadRow, "folded"),
  };
  const messages = readView(access, id, log, known, of("message"));
  if (messages === undefined) return loadHead(access, id, undefined);
  const runs = of("run").map(readRun);
  const latestRun = runs.find((run) => run.runId === thread.latestRun?.id);
  const openRun = runs.find((run) => run.runId === thread.openRunId);
  const [state] = of("state").map((row) => threadState.read(jsonOf(row, "record"), textOf(row, "thread_id")));
  return {
    thread,
    messages,
    messageCount: log.messageCount,
    ...(latestRun && { latestRun }),
    ...(openRun && { openRun }),
    ...(state && { state }),
  };
}

async function createThread(tx: Tx, scopeId: ScopeId, record: ThreadRecord): Promise<Finish<ThreadRecord>> {
  const [, found = []] = await tx.read(lockThread(scopeId, record.id), selectThread(scopeId, record.id));
  if (found.length > 0) throw new AwakenError("storage_already_exists", `thread '${record.id}' exists`, { details: { id: record.id } });
  await checkParent(tx, scopeId, record);
  return { writes: [writeThreadRow(scopeId, undefined, emptyThread(record))], result: record };
}

export function threadPort(access: Access): ThreadStore {
  const { scopeId, session, env } = access;
  const inScope = () => new Conditions("$").add("scope_id = ?", scopeId);
  return {
    create: async (init) => {
      const record = toThreadRecord(init, env.clock());
      return session.write((tx) => createThread(tx, scopeId, record));
    },

    load: async (id) => (await session.read(selectThread(scopeId, id))).map(readThread)[0],

    update: (id, patch) =>
      session.write(async (tx) => {
        const [, rows = []] = await tx.read(lockThread(scopeId, id), selectThread(scopeId, id));
        const [before] = rows.map((row) => readThreadRow(row));
        if (before === undefined) throw new AwakenError("storage_not_found", `thread '${id}' does not exist`, { details: { id } });
        const record = patchThread(before.record, patch, env.clock());
        if (record.parentThreadId !== before.record.parentThreadId) await checkParent(tx, scopeId, record);
        return { writes: [writeThreadRow(scopeId, before, { ...before, record })], result: record };
      }),

    delete: (id, children) => session.write((tx) => deleteThreads(tx, access, { id, children })),

    async list({ after, limit, ...filter }) {
      const where = afterThread(threadConditions(inScope(), filter), after);
      const size = clampLimit(limit);
      const tail = where.bind("ORDER BY updated_at DESC, thread_id LIMIT ?", size + 1);
      const rows = await session.read(sql(`SELECT thread_id, record FROM ~thread ${where.where} ${tail}`, ...where.values));
      return toPage(rows.map(readThread), size, threadPosition);
    },

    async count(filter) {
      const { where, values } = threadConditions(inScope(), filter);
      const [row] = await session.read(sql(`SELECT count(*) AS n FROM ~thread ${where}`, ...values));
      return numberOf(row ?? {}, "n");
    },

    async loadState(id) {
      const text = "SELECT state FROM ~thread WHERE scope_id = $1 AND thread_id = $2 AND state IS NOT NULL";
      return (await session.read(sql(text, scopeId, id))).map((row) => threadState.read(jsonOf(row, "state"), id))[0];
    },

    loadHead: (id) => {
      const known = access.views?.find(scopeId, id);
      // The entry goes on while the statement is under way.
      return loadHead(access, id, known && { ...known });
    },
  };
}

import { AwakenError, type PersistedState, type ScopeId, type ThreadId } from "@awaken/contract";
import {
  checkLineage,
  clampLimit,
  patchThread,
  type ThreadRecord,
  type ThreadStore,
  threadState,
  toThreadRecord,
} from "@awaken/contract/store";
import type { ThreadRow } from "../sql/commit-plan.ts";
import { afterThread, Conditions, threadConditions } from "../sql/conditions.ts";
import type { LastWritten } from "../sql/last-written.ts";
import { jsonOf, numberOf, toPage } from "../sql/rows.ts";
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
import type { Access } from "./access.ts";
import type { Finish, Tx } from "./attempt.ts";
import { deleteThreads } from "./delete-threads.ts";
import { knownView, loadHead } from "./heads.ts";
import { lockLineage, lockThread } from "./locks.ts";
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

    loadHead: async (id) => (await loadHead(access, id, knownView(access, id)))?.head,
  };
}

import { AwakenError, type PersistedState, runId, type ScopeId, type ThreadId } from "@awaken/contract";
import {
  type ChildStrategy,
  checkLineage,
  clampLimit,
  effectiveMessages,
  patchThread,
  type SequencedMessage,
  type ThreadHead,
  type ThreadRecord,
  type ThreadStore,
  threadState,
  toThreadRecord,
} from "@awaken/contract/store";
import type { ThreadRow } from "../sql/commit-plan.ts";
import { afterThread, Conditions, threadConditions } from "../sql/conditions.ts";
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
import { isBehind, type LogState } from "../sql/view-cache.ts";
import type { Access } from "./access.ts";
import type { Connection, Tx } from "./database.ts";
import { deleteThreads } from "./delete-threads.ts";
import { loadAfter } from "./messages.ts";
import { loadRun } from "./runs.ts";

const OF_THREAD = "WHERE scope_id = ? AND thread_id = ?";
/** The same as by the time alone; few threads are sorted, because the index has the half minutes in their order. */
const BY_ACTIVITY = "ORDER BY half_minute DESC, updated_at DESC, thread_id";
const SELECT_ROW = `SELECT ${THREAD_ROW} FROM thread ${OF_THREAD}`;
/** Its number is free: whoever had it is gone with all of its rows. */
const INSERT_ROW = `INSERT INTO thread (scope_id, ${THREAD_COLUMNS}, incarnation, state, half_minute, number)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(number), 0) + 1 FROM thread))`;
const UPDATE_ROW = `UPDATE thread SET updated_at = ?, latest_run_id = ?, open_run_id = ?, message_count = ?, folded = ?, run_count = ?,
  record = ?, state = coalesce(?, state) ${OF_THREAD}`;
const MOVE_IN_TIME = `UPDATE thread SET half_minute = ? ${OF_THREAD}`;
const MOVE_ROW = `UPDATE thread SET resource_id = ?, parent_thread_id = ? ${OF_THREAD}`;

function loadThreadRow(db: Connection, scopeId: ScopeId, id: ThreadId): ThreadRow | undefined {
  const row = db.get(SELECT_ROW, scopeId, id);
  return row && readThreadRow(row);
}

/** What the index over activity has of the time: as in the tables' migration. */
const halfMinute = (ms: number): number => Math.trunc(ms / 30_000);

/** What a write leaves out of the state stays. The indexes are left alone while their own columns stay. Gives the record as it is stored. */
export function writeThreadRow(tx: Tx, scopeId: ScopeId, before: ThreadRow | undefined, after: ThreadRow, state?: PersistedState): string {
  const [id = null, updatedAt = null, resourceId = null, parentId = null, ...rest] = threadValues(after);
  const now = halfMinute(after.record.metadata.updatedAt);
  const stateText = state === undefined ? null : JSON.stringify(state);
  if (before === undefined) {
    tx.run(INSERT_ROW, scopeId, id, updatedAt, resourceId, parentId, ...rest, after.incarnation, stateText, now);
  } else {
    const isMoved = before.record.resourceId !== after.record.resourceId || before.record.parentThreadId !== after.record.parentThreadId;
    if (isMoved) tx.run(MOVE_ROW, resourceId, parentId, scopeId, id);
    if (halfMinute(before.record.metadata.updatedAt) !== now) tx.run(MOVE_IN_TIME, now, scopeId, id);
    tx.run(UPDATE_ROW, updatedAt, ...rest, stateText, scopeId, id);
  }
  return String(rest.at(-1));
}

/** From this thread up to the root, as far as they exist; a cycle ends the walk. */
export function loadLineage(db: Connection, scopeId: ScopeId, id: ThreadId): readonly ThreadId[] {
  return readThreadIds(
    db.all(
      `WITH RECURSIVE up (thread_id, parent_thread_id, depth) AS (
         SELECT thread_id, parent_thread_id, 0 FROM thread WHERE scope_id = ?1 AND thread_id = ?2
         UNION SELECT t.thread_id, t.parent_thread_id, up.depth + 1 FROM up
         CROSS JOIN thread t ON t.scope_id = ?1 AND t.thread_id = up.parent_thread_id
         WHERE up.depth < 10000
       ) SELECT thread_id FROM up ORDER BY depth`,
      ...[scopeId, id],
    ),
  );
}

function loadThreadState(db: Connection, scopeId: ScopeId, id: ThreadId): PersistedState | undefined {
  const row = db.get("SELECT state FROM thread WHERE scope_id = ? AND thread_id = ? AND state IS NOT NULL", scopeId, id);
  return row && threadState.read(jsonOf(row, "state"), id);
}

function insertThread(tx: Tx, scopeId: ScopeId, record: ThreadRecord): ThreadRecord {
  const { id, parentThreadId } = record;
  if (loadThreadRow(tx, scopeId, id) !== undefined) {
    throw new AwakenError("storage_already_exists", `thread '${id}' exists`, { details: { id } });
  }
  if (parentThreadId !== undefined) checkLineage(record, loadLineage(tx, scopeId, parentThreadId));
  writeThreadRow(tx, scopeId, undefined, emptyThread(record));
  return record;
}

const missing = (id: ThreadId): AwakenError => new AwakenError("storage_not_found", `thread '${id}' does not exist`, { details: { id } });

/** What a model may see of the log. Costs what was added since the last time, if that is known. */
function loadView(db: Connection, { scopeId, views }: Access, id: ThreadId, log: LogState): readonly SequencedMessage[] {
  const load = (after: number) => loadAfter(db, scopeId, id, after).map(({ seq, message }) => ({ seq, message }));
  if (views === undefined) return effectiveMessages(load(log.folded));
  const known = views.find(scopeId, id);
  const extended = known !== undefined && isBehind(known, log) ? views.extend(scopeId, id, log, load(known.count)) : undefined;
  return extended ?? views.replace(scopeId, id, log, load(log.folded));
}

export function loadHead(db: Connection, access: Access, id: ThreadId): ThreadHead | undefined {
  const { scopeId } = access;
  const row = loadThreadRow(db, scopeId, id);
  if (row === undefined || (row.messageCount === 0 && row.runCount === 0)) return undefined;
  const { record: thread, messageCount } = row;
  const { latestRun, openRunId } = thread;
  const latest = latestRun && loadRun(db, scopeId, latestRun.id);
  const open = openRunId === undefined || openRunId === latest?.runId ? undefined : loadRun(db, scopeId, runId(openRunId));
  const openRun = openRunId === latest?.runId ? latest : open;
  const state = loadThreadState(db, scopeId, id);
  return {
    thread,
    messages: loadView(db, access, id, row),
    messageCount,
    ...(latest && { latestRun: latest }),
    ...(openRun && { openRun }),
    ...(state && { state }),
  };
}

export function threadPort(access: Access): ThreadStore {
  const { scopeId, session, env, channels } = access;
  return {
    create: (init) => session.write((tx) => insertThread(tx, scopeId, toThreadRecord(init, env.clock()))),

    load: (id) => session.read((db) => loadThreadRow(db, scopeId, id)?.record),

    update: (id, patch) =>
      session.write((tx) => {
        const before = loadThreadRow(tx, scopeId, id);
        if (before === undefined) throw missing(id);
        const record = patchThread(before.record, patch, env.clock());
        const { parentThreadId } = record;
        if (parentThreadId !== undefined && parentThreadId !== before.record.parentThreadId) {
          checkLineage(record, loadLineage(tx, scopeId, parentThreadId));
        }
        writeThreadRow(tx, scopeId, before, { ...before, record });
        return record;
      }),

    delete: (id: ThreadId, children: ChildStrategy) =>
      session.write((tx) => {
        if (loadThreadRow(tx, scopeId, id) === undefined) throw missing(id);
        deleteThreads(tx, scopeId, { id, children, bells: channels.bells });
      }),

    list: ({ after, limit, ...filter }) =>
      session.read((db) => {
        const where = threadConditions(new Conditions("?").add("scope_id = ?", scopeId), filter);
        const size = clampLimit(limit);
        // Also for the first page: without a bound SQLite would not take the index, and sort all threads.
        where.add("half_minute <= ?", halfMinute(after?.updatedAt ?? Number.MAX_SAFE_INTEGER));
        const tail = afterThread(where, after).bind(`${BY_ACTIVITY} LIMIT ?`, size + 1);
        const rows = db.all(`SELECT thread_id, record FROM thread ${where.where} ${tail}`, ...where.values);
        return toPage(rows.map(readThread), size, threadPosition);
      }),

    count: (filter) =>
      session.read((db) => {
        const { where, values } = threadConditions(new Conditions("?").add("scope_id = ?", scopeId), filter);
        return numberOf(db.get(`SELECT count(*) AS n FROM thread ${where}`, ...values) ?? {}, "n");
      }),

    loadState: (id) => session.read((db) => loadThreadState(db, scopeId, id)),

    loadHead: (id) => session.snapshot((db) => loadHead(db, access, id)),
  };
}

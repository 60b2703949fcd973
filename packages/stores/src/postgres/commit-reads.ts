import type { MessageId, RunRecord, ScopeId, ThreadId } from "@awaken/contract";
import { resumeKey, type ThreadCommit, touchedThreads } from "@awaken/contract/store";
import type { RowReads } from "../sql/commit-plan.ts";
import { keyOf, type Log, type LogHead } from "../sql/event-log.ts";
import { readHead } from "../sql/event-rows.ts";
import { type Row, textOf } from "../sql/rows.ts";
import { readRun } from "../sql/run-row.ts";
import { readThreadIds, readThreadRow, THREAD_ROW } from "../sql/thread-row.ts";
import { readOpenWish } from "../sql/wish-rows.ts";
import type { Access } from "./access.ts";
import type { Tx } from "./attempt.ts";
import { lockDispatch, newcomer, readDispatch, readQueueState, selectQueueState } from "./dispatch-rows.ts";
import { newestOf, readKnown, selectKnown } from "./events.ts";
import { lockEffects, readEffect } from "./ledger.ts";
import { lockLineageOfOrphan, lockThread, lockThreads } from "./locks.ts";
import { readCommitted, selectCommitted } from "./messages.ts";
import { askOutbound } from "./outbound-reads.ts";
import { readQueue, selectPending } from "./pending.ts";
import { Questions } from "./questions.ts";
import { type Statement, sql } from "./statement.ts";
import { selectLineage } from "./threads.ts";

/** Records as text: those that this process wrote last are known by it. */
const THREAD = THREAD_ROW.split(", ")
  .map((column) => (column === "record" ? "t.record::text" : `t.${column}`))
  .join(", ");

/** The thread and the run, and how far their logs came if that is asked. */
const selectBase = (scopeId: ScopeId, { threadId, runId, events }: ThreadCommit): Statement =>
  sql(events === undefined || events.length === 0 ? SELECT_BASE : SELECT_WITH_HEADS, scopeId, threadId, runId);

const selectText = (columns: string, joins: string): string =>
  `SELECT ${THREAD}, r.run_id, r.record::text AS run,
     EXISTS (SELECT 1 FROM ~dispatch d WHERE d.scope_id = $1 AND d.thread_id = $2 AND d.status = 'claimed') AS has_claim,
     (SELECT json_agg(json_build_object('wish_id', w.wish_id, 'ticket_id', w.ticket_id) ORDER BY w.place) FROM ~wish w WHERE w.scope_id = $1 AND w.run_id = $3 AND w.taken_at IS NULL) AS wishes
     ${columns} FROM (SELECT 1) AS one
    LEFT JOIN ~thread t ON t.scope_id = $1 AND t.thread_id = $2
    LEFT JOIN ~run r ON r.scope_id = $1 AND r.run_id = $3 ${joins}`;

/** As `headOf`, without a sort. */
const headColumns = (type: Log["type"]): string =>
  `, coalesce(${type}_log.last_seq, ${type}_swept.last_seq) AS ${type}_log_last_seq,
     coalesce(${type}_log.last_at, ${type}_swept.last_at) AS ${type}_log_last_at,
     ${type}_log.batch_id AS ${type}_log_batch_id, ${type}_log.count AS ${type}_log_count`;

const headJoins = (type: Log["type"], id: string): string =>
  `LEFT JOIN LATERAL (${newestOf(type, "$1", id)}) AS ${type}_log ON true
   LEFT JOIN ~swept_log ${type}_swept ON ${type}_swept.scope_id = $1 AND ${type}_swept.type = '${type}' AND ${type}_swept.id = ${id}`;

const SELECT_BASE = selectText("", "");
const SELECT_WITH_HEADS = selectText(headColumns("thread") + headColumns("run"), `${headJoins("thread", "$2")} ${headJoins("run", "$3")}`);

const headIn = (row: Row, type: Log["type"]): LogHead =>
  readHead(type, {
    last_seq: row[`${type}_log_last_seq`],
    last_at: row[`${type}_log_last_at`],
    batch_id: row[`${type}_log_batch_id`],
    count: row[`${type}_log_count`],
  });

/** The parent that the run would give its thread. */
function parentOf({ run, threadId }: ThreadCommit): ThreadId | undefined {
  const parent = run?.activation.trace.parentThreadId;
  return parent === threadId ? undefined : parent;
}

export interface LoadedCommit {
  readonly reads: RowReads;
  /** Of the last entry in the pending queue of a thread. */
  readonly lastPlace: (threadId: ThreadId) => number;
}

/** Locks the thread, then reads in one round trip whatever the plan of this commit may ask. */
export async function loadForCommit(
  tx: Tx,
  { scopeId, written }: Pick<Access, "scopeId" | "written">,
  commit: ThreadCommit,
): Promise<LoadedCommit> {
  const { threadId, runId, fence, pending, ledger, dispatch, outbound } = commit;
  const parent = parentOf(commit);
  const isEnqueued = dispatch?.type === "enqueue" || dispatch?.type === "enqueue-claimed";
  const isLast = commit.run?.status === "waiting" || commit.run?.status === "done";
  const added = isEnqueued ? newcomer(dispatch.dispatch, dispatch.type === "enqueue-claimed") : { keys: isLast ? [resumeKey(runId)] : [] };
  const ids: readonly MessageId[] = pending?.append?.map(({ message }) => message.id) ?? [];
  const keys = [...(ledger?.claims ?? []), ...(ledger?.outcomes ?? [])].map((row) => row.idempotencyKey);
  const needsQueue = fence !== undefined || dispatch !== undefined || isLast;
  const eventKeys = [...(commit.events ?? []), ...(outbound ?? []).flatMap((item) => item.events ?? [])].flatMap(
    ({ idempotency }) => idempotency ?? [],
  );

  const questions = new Questions();
  const nothing = () => undefined;
  const touched = touchedThreads(threadId, outbound);
  questions.ask(touched.length === 1 ? lockThread(scopeId, threadId) : lockThreads(scopeId, touched), nothing);
  questions.ask(parent && lockLineageOfOrphan(scopeId, threadId), nothing);
  const base = questions.ask(selectBase(scopeId, commit), ([row = {}]) => row);
  const lineage = questions.ask(parent && selectLineage(scopeId, parent), readThreadIds);
  const fenced = questions.ask(fence && lockDispatch(scopeId, fence.dispatchId), (rows) => rows.map(readDispatch)[0]);
  const queue = questions.ask(needsQueue ? selectQueueState(scopeId, threadId, added) : undefined, readQueueState);
  const needsPending = pending !== undefined || commit.run?.status === "done";
  const waiting = questions.ask(needsPending ? selectPending(scopeId, threadId) : undefined, readQueue);
  const committed = questions.ask(ids.length === 0 ? undefined : selectCommitted(scopeId, threadId, ids), readCommitted);
  const effects = questions.ask(keys.length === 0 ? undefined : lockEffects(scopeId, [...new Set(keys)]), (rows) => rows.map(readEffect));
  const known = questions.ask(eventKeys.length === 0 ? undefined : selectKnown(scopeId, eventKeys), readKnown);
  const posts = askOutbound(questions, scopeId, commit);
  await questions.send(tx);

  const row = base();
  const thread = row["thread_id"] == null ? undefined : readThreadRow(row, written.threads.find(scopeId, threadId, row["record"]));
  const run = row["run_id"] == null ? undefined : (written.runs.find(scopeId, runId, row["run"]) ?? readRunIn(row));
  const knownEvents = known();
  const { entries, lastPlace } = waiting();
  const byKey = new Map(effects().map((entry) => [entry.idempotencyKey, entry]));
  const reads: RowReads = {
    ...queue(),
    hasClaim: () => row["has_claim"] === true,
    openWishes: () => (Array.isArray(row["wishes"]) ? row["wishes"].map(readOpenWish) : []),
    thread: () => thread,
    run: () => run,
    lineage,
    dispatch: fenced,
    pending: () => entries,
    committed,
    ledger: (key) => byKey.get(key),
    events: {
      known: (writerId, key) => knownEvents.get(keyOf({ writerId, key })),
      head: (log) => posts.head(log) ?? headIn(row, log.type),
    },
    outbound: posts.reads,
  };
  return { reads, lastPlace: (id) => (id === threadId ? lastPlace : posts.lastPlace(id)) };
}

const readRunIn = (row: Row): RunRecord => readRun({ run_id: textOf(row, "run_id"), record: row["run"] });

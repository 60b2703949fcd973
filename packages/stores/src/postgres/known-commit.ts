import type { PendingRecord, ThreadCommit } from "@awaken/contract/store";
import { planRows, type RowPlan, type RowReads } from "../sql/commit-plan.ts";
import { EMPTY_LOG, logKey } from "../sql/event-log.ts";
import type { Access } from "./access.ts";
import type { Parameter } from "./driver.ts";
import { lastSeqOf } from "./events.ts";
import type { KnownThread } from "./known-threads.ts";
import { type Statement, sql } from "./statement.ts";

/** A commit that was planned without asking, and the statement that makes it fail unless asking would have said the same. */
export interface GuessedCommit {
  readonly known: KnownThread;
  readonly guard: Statement;
  readonly plan: RowPlan;
  readonly reads: RowReads;
}

/**
 * Undefined when it cannot be planned from what this process knows. What is not known to be there is taken as not there where an index
 * would refuse a second one: threads, runs, dispatches and their keys, effects and messages; a log is taken as empty.
 */
export function guessCommit(access: Access, commit: ThreadCommit): GuessedCommit | undefined {
  const known = knownFor(access, commit);
  if (known === undefined) return undefined;
  const { env } = access;
  const reads = readsOf(commit, known);
  try {
    const plan = planRows(commit, reads, env);
    // Whoever goes on with the thread is written apart from the rest.
    if (plan.next !== undefined) return undefined;
    return { known, guard: refuseOthers(commit, { known, plan, reads }), plan, reads };
  } catch {
    // What is refused is refused by what the rows say.
    return undefined;
  }
}

/** Whether it may be possible now. */
export const canGuess = (access: Access, commit: ThreadCommit): boolean => knownFor(access, commit) !== undefined;

function knownFor({ scopeId, known: threads }: Access, commit: ThreadCommit): KnownThread | undefined {
  const known = threads?.find(scopeId, commit.threadId) ?? (commit.isNewThread === true ? threads?.unseen(scopeId) : undefined);
  return known !== undefined && isPlain(commit, known) && isAllKnown(commit, known) ? known : undefined;
}

/** It needs nothing but its thread, its run, one dispatch and its effects; messages are added where nothing else is, or taken of those that are known. */
function isPlain({ pending, outbound = [], takes = [], events = [], fence, dispatch }: ThreadCommit, known: KnownThread): boolean {
  const isSecond = fence !== undefined && (dispatch?.type === "enqueue" || dispatch?.type === "enqueue-claimed");
  const isPlainEvent = ({ idempotency, expected }: (typeof events)[number]) => idempotency === undefined && expected === undefined;
  const isFirst = known.thread === undefined && pending?.consume === undefined;
  const isQueuePlain = pending === undefined || isFirst || (known.pending !== undefined && pending.append === undefined);
  return !isSecond && isQueuePlain && outbound.length === 0 && takes.length === 0 && events.every(isPlainEvent);
}

function isAllKnown(commit: ThreadCommit, known: KnownThread): boolean {
  const { run, runId, isNewRun, fence, dispatch, threadId, ledger, events = [] } = commit;
  const parent = run?.activation.trace.parentThreadId;
  if (parent !== undefined && parent !== threadId && parent !== known.thread?.record.parentThreadId) return false;
  const isRunKnown = known.run?.runId === runId;
  if ((run !== undefined || ledger !== undefined) && isRunKnown === (isNewRun === true)) return false;
  const needsQueue = fence !== undefined || dispatch !== undefined;
  if (needsQueue && known.epoch === undefined) return false;
  if (fence !== undefined && known.dispatch?.dispatchId !== fence.dispatchId) return false;
  if (ledger?.outcomes.some(({ idempotencyKey }) => !known.effects.has(idempotencyKey) && !isClaimed(commit, idempotencyKey))) return false;
  // A new run has no log; of another one it has to be known how far it came.
  const logs =
    events.length === 0 ? [] : [logKey({ type: "thread", id: threadId }), ...(isNewRun ? [] : [logKey({ type: "run", id: runId })])];
  return (
    (known.thread === undefined || logs.every((log) => known.heads.has(log))) &&
    events.every(({ draft }) => draft.threadId === threadId && draft.runId === runId)
  );
}

const isClaimed = ({ ledger }: ThreadCommit, key: string): boolean => ledger?.claims.some((claim) => claim.idempotencyKey === key) === true;

const NO_IDS: ReadonlySet<string> = new Set();
const NO_QUEUE = { epoch: () => 0, isKnown: () => false, holder: () => undefined, newest: () => undefined };

function readsOf(commit: ThreadCommit, known: KnownThread): RowReads {
  const isRunKnown = known.run?.runId === commit.runId;
  const nothing: readonly never[] = [];
  return {
    thread: () => known.thread,
    run: () => (isRunKnown ? known.run : undefined),
    lineage: () => nothing,
    dispatch: () => known.dispatch,
    ledger: (key) => known.effects.get(key),
    openWishes: () => nothing,
    epoch: () => known.epoch ?? 0,
    isKnown: () => false,
    holder: () => undefined,
    hasClaim: () => commit.fence !== undefined,
    hasQueued: () => false,
    newest: () => undefined,
    pending: () => known.pending ?? nothing,
    committed: () => new Set(),
    events: { known: () => undefined, head: (log) => known.heads.get(logKey(log)) ?? EMPTY_LOG },
    outbound: {
      delivered: NO_IDS,
      runs: NO_IDS,
      thread: () => ({ ...NO_QUEUE, pending: () => nothing, committed: () => new Set() }),
    },
  };
}

/** Set by `tryLockThread` until the end of the transaction: without it there is none, and each statement would be one of its own. */
const IS_LOCKED = "current_setting('awaken.locked', true) = '1'";

/**
 * Gives one row, or makes all of the commit fail: when the thread is not locked, a row that was to be changed was not the one that is known,
 * a log came further, something is there that was not, or what is queued would not stand behind what is. It comes last in the statement
 * that it judges, whose parts have the names that it asks for.
 */
function refuseOthers(commit: ThreadCommit, { known, plan, reads }: Omit<GuessedCommit, "guard">): Statement {
  const { threadId, runId, fence, dispatch } = commit;
  const values: Parameter[] = [known.scopeId, threadId, runId];
  const bind = (value: Parameter): string => `$${values.push(value)}`;
  const rows = [
    ...(known.thread === undefined ? [] : ["known_thread"]),
    ...(plan.run?.before === undefined ? [] : ["known_run"]),
    ...(fence === undefined ? [] : ["known_dispatch"]),
    ...plan.ledger.changed.map((_, index) => `known_effect${index}`),
  ];
  const ofThread = "WHERE scope_id = $1 AND thread_id = $2";
  const needsPending = commit.run?.status === "done" || commit.pending !== undefined;
  const waiting = known.pending ?? [];
  const queued = plan.dispatch?.after.status === "queued" ? plan.dispatch.after : undefined;
  const absent = [
    "~wish WHERE scope_id = $1 AND run_id = $3 AND taken_at IS NULL",
    ...(fence === undefined ? [`~dispatch ${ofThread} AND status = 'claimed'`] : []),
    ...(plan.dispatch?.before === undefined ? [] : [`~dispatch ${ofThread} AND status = 'queued'`]),
    ...(queued === undefined
      ? []
      : [`~dispatch ${ofThread} AND status = 'queued' AND ${isBehind(bind(queued.createdAt), bind(queued.dispatchId))}`]),
    ...(needsPending && waiting.length === 0 ? [`~pending ${ofThread}`] : []),
  ];
  const needsEpoch = fence !== undefined || dispatch !== undefined;
  // Whether effects may be claimed is said by the run, which is not written then.
  const claiming = commit.ledger === undefined || plan.run !== undefined ? undefined : known.run;
  const conditions = [
    IS_LOCKED,
    ...rows.map((row) => `EXISTS (SELECT 1 FROM ${row})`),
    ...absent.map((what) => `NOT EXISTS (SELECT 1 FROM ${what})`),
    ...(needsEpoch ? [`${bind(known.epoch ?? null)} = coalesce((SELECT epoch FROM ~thread_epoch ${ofThread}), 0)`] : []),
    ...(needsPending && waiting.length > 0 ? [`${bind(waiting.map(pendingMark).join(","))} = (${PENDING_MARKS} ${ofThread})`] : []),
    ...(claiming === undefined ? [] : [isRun(bind(claiming.updatedAt), bind(claiming.status))]),
    ...plan.events.logs.map((log) => `${bind(reads.events.head(log).lastSeq)} = ${lastSeqOf(log.type, "$1", bind(log.id))}`),
  ];
  return sql(`SELECT CASE WHEN ${conditions.join(" AND ")} THEN 1 ELSE ~refuse() END`, ...values);
}

const isBehind = (createdAt: string, id: string): string => `(created_at, dispatch_id) >= (${createdAt}, ${id})`;

/** What tells one queue of messages from another; as `PENDING_MARKS`. */
const pendingMark = ({ pendingId, revision }: PendingRecord): string => `${pendingId} ${revision}`;
const PENDING_MARKS = "SELECT string_agg(pending_id || ' ' || (record -> 'revision')::text, ',' ORDER BY place) FROM ~pending";

const isRun = (updatedAt: string, status: string): string =>
  `EXISTS (SELECT 1 FROM ~run WHERE scope_id = $1 AND run_id = $3 AND updated_at = ${updatedAt} AND status = ${status})`;

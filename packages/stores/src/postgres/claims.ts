import { AwakenError, type DispatchId, type ThreadId } from "@awaken/contract";
import {
  type Claim,
  type ClaimedDispatch,
  type ClaimedRecords,
  type ClaimRequest,
  claimQueued,
  clampLimit,
  type QueuedDispatch,
  supersedeDispatch,
} from "@awaken/contract/store";
import { type Log, type LogHead, logKey } from "../sql/event-log.ts";
import { readHead as readLogHead } from "../sql/event-rows.ts";
import { jsonOf, numberOf, type Row } from "../sql/rows.ts";
import { runIn } from "../sql/run-row.ts";
import { readWish } from "../sql/wish-rows.ts";
import { INTERRUPTED } from "../worker-moves.ts";
import type { Access } from "./access.ts";
import type { Finish } from "./attempt.ts";
import { bodiesOf } from "./blobs.ts";
import { finishMoves, queuedIn, readDispatch } from "./dispatch-rows.ts";
import { newestOf } from "./events.ts";
import {
  HEAD_PARTS,
  headThread,
  type KnownView,
  knownValues,
  knownView,
  loadHead,
  partOf,
  readHead,
  readPartRun,
  rowsOf,
  withId,
} from "./heads.ts";
import { readQueue } from "./pending.ts";
import { type Statement, sql } from "./statement.ts";

interface Claiming {
  readonly request: ClaimRequest;
  /** This row, whether it is available or not; else the first that is. */
  readonly id?: DispatchId;
}

const RUN = "(SELECT run_id FROM next)";

const newestPart = (type: Log["type"], id: string): string =>
  `UNION ALL (${partOf(`${type}-log`, "NULL", "log.batch_id", "log.last_seq", "to_json(log.last_at)", "NULL, to_json(log.count)")}
    FROM (${newestOf(type, "$1", id)}) AS log)`;

/** How far a log came that has no event left. */
const sweptPart = (type: Log["type"], id: string): string =>
  `UNION ALL ${partOf(`${type}-swept`, "NULL", "NULL", "s.last_seq", "to_json(s.last_at)")}
    FROM ~swept_log s WHERE s.scope_id = $1 AND s.type = '${type}' AND s.id = ${id}`;

/**
 * Open rows of a thread, and all that the run of the one that is next begins with: it is the first that is queued, of this epoch, and
 * available (`$3`) or named (`$4`), while none is claimed. Ids are taken out of records by ways that leave the other strings alone.
 */
export const SELECT_NEXT = `WITH
    open AS (SELECT * FROM ~dispatch WHERE scope_id = $1 AND thread_id = $2 AND status IN ('queued', 'claimed')),
    epoch AS (SELECT coalesce((SELECT epoch FROM ~thread_epoch WHERE scope_id = $1 AND thread_id = $2), 0) AS epoch),
    next AS (
      SELECT (q.record -> 'runId') #>> '{}' AS run_id FROM open q, epoch
      WHERE q.status = 'queued' AND q.epoch >= epoch.epoch AND (q.available_at <= $3 OR q.dispatch_id = $4)
        AND NOT EXISTS (SELECT 1 FROM open WHERE status = 'claimed')
      ORDER BY q.priority, q.created_at, q.dispatch_id LIMIT 1),
    ${headThread({ incarnation: "$5", count: "$6" }, "EXISTS (SELECT 1 FROM next)")}
  ${HEAD_PARTS}
  UNION ALL (${partOf("open", "q.thread_id", "q.dispatch_id", "epoch.epoch", "q.record")} FROM open q, epoch
    ORDER BY q.priority, q.created_at, q.dispatch_id)
  UNION ALL ${partOf("asked", "r.thread_id", "r.run_id", "NULL", "r.record")} FROM ~run r WHERE r.scope_id = $1
    AND r.run_id = (SELECT run_id FROM next WHERE NOT EXISTS (SELECT 1 FROM t WHERE next.run_id IN (t.latest_run_id, t.open_run_id)))
  UNION ALL (${partOf("wish", "w.thread_id", "w.wish_id", "w.place", "w.record")} FROM ~wish w
    WHERE w.scope_id = $1 AND w.run_id = ${RUN} AND w.taken_at IS NULL ORDER BY w.place)
  UNION ALL (${partOf("pending", "p.thread_id", "p.pending_id", "p.place", "p.record", `p.parts, ${bodiesOf("p")}`)} FROM ~pending p
    WHERE p.scope_id = $1 AND p.thread_id = $2 AND EXISTS (SELECT 1 FROM next) ORDER BY p.place)
  ${newestPart("thread", "$2")} ${newestPart("run", RUN)}
  ${sweptPart("thread", "$2")} ${sweptPart("run", RUN)}`;

const selectNext = ({ scopeId }: Access, threadId: ThreadId, { id }: Claiming, now: number, known: KnownView): Statement =>
  sql(SELECT_NEXT, scopeId, threadId, id === undefined ? now : null, id ?? null, ...knownValues(known));

/** A claim, and the rows of what its run begins with. */
interface Taken {
  readonly dispatch: ClaimedDispatch;
  readonly queued: readonly QueuedDispatch[];
  readonly epoch: number;
  readonly rows: readonly Row[];
}

/** Two round trips, for all that are asked for together: one locks the threads and reads all, one claims and commits. */
export async function claimNext(access: Access, threadId: ThreadId, claiming: Claiming): Promise<Claim | undefined> {
  const known = knownView(access, threadId);
  let now = 0;
  // A claim that a crash takes back was nobody's: the first commit of its run is on the disk after it.
  const taken = await access.session.ask({
    ...{ scopeId: access.scopeId, threadId },
    question: () => {
      now = access.env.clock();
      return selectNext(access, threadId, claiming, now, known);
    },
    plan: (rows) => take(access, claiming, now, rows),
  });
  if (taken === undefined) return undefined;
  const { dispatch } = taken;
  try {
    return { dispatch, records: await readRecords(access, taken, known) };
  } catch (thrown) {
    if (AwakenError.is(thrown)) return { dispatch, records: thrown };
    throw thrown;
  }
}

/** The first row that is accepted; rows of an older epoch are superseded on the way. */
function take(access: Access, claiming: Claiming, now: number, rows: readonly Row[]): Finish<Taken | undefined> {
  const { env } = access;
  const openRows = rowsOf(rows, "open");
  const epoch = openRows[0] === undefined ? 0 : numberOf(openRows[0], "seq");
  const open = openRows.map((row) => readDispatch(withId(row, "dispatch_id")));
  const stale = queuedIn(open).filter((row) => row.epoch < epoch);
  const fresh = queuedIn(open).filter((row) => row.epoch >= epoch);
  const superseded = stale.map((row) => supersedeDispatch(row, INTERRUPTED, now));
  const isFree = open.every((row) => row.status !== "claimed");
  const isNext = ({ availableAt, dispatchId }: QueuedDispatch) =>
    claiming.id === undefined ? availableAt <= now : dispatchId === claiming.id;
  const next = isFree ? fresh.find(isNext) : undefined;
  if (next === undefined) return finishMoves(access, superseded, undefined);
  const { consumer, leaseMs } = claiming.request;
  const dispatch = claimQueued(next, { claimToken: env.ids(), claimedBy: consumer, leaseMs, now });
  const queued = fresh.filter((row) => row !== next).slice(0, clampLimit());
  return finishMoves(access, [...superseded, dispatch], { dispatch, queued, epoch, rows });
}

async function readRecords(access: Access, { dispatch, queued, epoch, rows }: Taken, known: KnownView): Promise<ClaimedRecords> {
  const { scopeId } = access;
  const { threadId } = dispatch;
  const read = readHead(access, threadId, known, rows);
  const found = read === "again" ? await loadHead(access, threadId, undefined) : read;
  const run = runIn(found?.head, dispatch.runId) ?? rowsOf(rows, "asked").map(readPartRun)[0];
  const pending = readQueue(rowsOf(rows, "pending").map((row) => ({ ...withId(row, "pending_id"), place: row["seq"] }))).entries;
  const wishes = rowsOf(rows, "wish").map((row) => readWish({ ...withId(row, "wish_id"), taken_at: null }));
  if (found !== undefined && wishes.length === 0)
    access.known?.claimed(scopeId, dispatch, { thread: found.row, run, heads: logHeads(dispatch, rows), epoch, pending });
  return { run, head: found?.head, pending, wishes, queued };
}

function logHeads({ threadId, runId }: ClaimedDispatch, rows: readonly Row[]): ReadonlyMap<string, LogHead> {
  const headOfLog = (type: Log["type"]): LogHead => {
    const [row] = [...rowsOf(rows, `${type}-log`), ...rowsOf(rows, `${type}-swept`)];
    return readLogHead(
      type,
      row && { last_seq: row["seq"], last_at: jsonOf(row, "record"), batch_id: row["id"], count: jsonOf(row, "bodies") },
    );
  };
  return new Map([
    [logKey({ type: "thread", id: threadId }), headOfLog("thread")],
    [logKey({ type: "run", id: runId }), headOfLog("run")],
  ]);
}

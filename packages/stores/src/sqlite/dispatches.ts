import { AwakenError, type DispatchId, type ThreadId } from "@awaken/contract";
import {
  type Claim,
  type ClaimedDispatch,
  type ClaimedRecords,
  type ClaimRequest,
  cancelDispatch,
  claimQueued,
  clampLimit,
  type DispatchStore,
  type Fence,
  type InterruptedThread,
  type QueuedDispatch,
  readClaim,
  supersedeDispatch,
} from "@awaken/contract/store";
import { planEnqueue } from "../plan/enqueue-plan.ts";
import { dispatchPosition } from "../sql/columns.ts";
import { Conditions, dispatchConditions } from "../sql/conditions.ts";
import { toPage } from "../sql/rows.ts";
import { countDispatches, runIn } from "../sql/run-row.ts";
import { type ClaimRows, dispatchEntries, INTERRUPTED, workerMoves } from "../worker-moves.ts";
import type { Access } from "./access.ts";
import { type Connection, keeping, type Tx } from "./database.ts";
import { DISPATCH_ROW, hasClaim, loadDispatch, loadEpoch, loadQueued, queueReads, readDispatch, writeDispatch } from "./dispatch-rows.ts";
import { loadPending } from "./pending.ts";
import { loadRun } from "./runs.ts";
import { loadHead } from "./threads.ts";
import { listOpenWishes, loadOpenWishes } from "./wishes.ts";

export const dispatchPort = (access: Access): DispatchStore =>
  dispatchEntries({
    ...queueMoves(access),
    ...workerMoves(claimRows(access)),
    ...reads(access),
  });

type QueueMove = "enqueue" | "claim" | "claimDispatch" | "cancel" | "interrupt" | "removeDeadLetter" | "hint";

function queueMoves(access: Access): Pick<DispatchStore, QueueMove> {
  const { scopeId, session, env, channels } = access;
  return {
    enqueue: (init) =>
      session.write(keeping((tx) => writeDispatch(tx, access, planEnqueue(init, queueReads(tx, scopeId, init.threadId), env.clock())))),

    claim: (threadId, request) =>
      claimOf(
        access,
        session.write(
          keeping((tx) => {
            const now = env.clock();
            return claimRow(tx, access, freshRows(tx, access, threadId), request, ({ availableAt }) => availableAt <= now);
          }),
        ),
      ),

    claimDispatch: (id: DispatchId, request) =>
      claimOf(
        access,
        session.write(
          keeping((tx) => {
            const threadId = loadDispatch(tx, scopeId, id)?.threadId;
            if (threadId === undefined) return undefined;
            return claimRow(tx, access, freshRows(tx, access, threadId), request, ({ dispatchId }) => dispatchId === id);
          }),
        ),
      ),

    cancel: (id) =>
      session.write(
        keeping((tx) => {
          const dispatch = loadDispatch(tx, scopeId, id);
          return dispatch?.status === "queued" ? writeDispatch(tx, access, cancelDispatch(dispatch, env.clock())) : undefined;
        }),
      ),

    interrupt: (threadId) => session.write((tx) => interrupt(tx, access, threadId)),

    removeDeadLetter: (id) =>
      session.write((tx) => {
        const dispatch = loadDispatch(tx, scopeId, id);
        if (dispatch?.status !== "dead-letter") return undefined;
        tx.run("DELETE FROM dispatch WHERE scope_id = ? AND dispatch_id = ?", scopeId, id);
        return dispatch;
      }),

    hint: (hint) => session.write((tx) => tx.afterCommit(() => channels.hints.send({ ...hint, scopeId }))),
  };
}

/** Queued rows of the thread; those of an older epoch are superseded. */
function freshRows(tx: Tx, access: Access, threadId: ThreadId): readonly QueuedDispatch[] {
  const epoch = loadEpoch(tx, access.scopeId, threadId);
  return loadQueued(tx, access.scopeId, threadId).filter((dispatch) => {
    if (dispatch.epoch >= epoch) return true;
    writeDispatch(tx, access, supersedeDispatch(dispatch, INTERRUPTED, access.env.clock()));
    return false;
  });
}

interface Taken {
  readonly dispatch: ClaimedDispatch;
  readonly queued: readonly QueuedDispatch[];
}

/** The first of these that is accepted, unless the thread is held. */
function claimRow(
  tx: Tx,
  access: Access,
  fresh: readonly QueuedDispatch[],
  { consumer, leaseMs }: ClaimRequest,
  accepts: (row: QueuedDispatch) => boolean,
): Taken | undefined {
  const { scopeId, env } = access;
  const next = fresh.find(accepts);
  if (next === undefined || hasClaim(tx, scopeId, next.threadId)) return undefined;
  const dispatch = claimQueued(next, { claimToken: env.ids(), claimedBy: consumer, leaseMs, now: env.clock() });
  return { dispatch: writeDispatch(tx, access, dispatch), queued: fresh.filter((row) => row !== next).slice(0, clampLimit()) };
}

/** Its records are read when the claim is durable: what readers remember of a thread must not be taken back. */
async function claimOf(access: Access, claiming: Promise<Taken | undefined>): Promise<Claim | undefined> {
  const taken = await claiming;
  if (taken === undefined) return undefined;
  const records = access.session
    .snapshot((db) => loadClaimed(db, access, taken))
    .catch((thrown: unknown) => {
      if (AwakenError.is(thrown)) return thrown;
      throw thrown;
    });
  return { dispatch: taken.dispatch, records: await records };
}

function loadClaimed(db: Connection, access: Access, { dispatch: { threadId, runId }, queued }: Taken): ClaimedRecords {
  const { scopeId } = access;
  const head = loadHead(db, access, threadId);
  return {
    run: runIn(head, runId) ?? loadRun(db, scopeId, runId),
    head,
    pending: loadPending(db, scopeId, threadId),
    wishes: listOpenWishes(db, scopeId, runId),
    queued,
  };
}

function interrupt(tx: Tx, access: Access, threadId: ThreadId): InterruptedThread {
  const { scopeId, env } = access;
  const epoch = loadEpoch(tx, scopeId, threadId) + 1;
  tx.run(
    `INSERT INTO thread_epoch (scope_id, thread_id, epoch) VALUES (?, ?, ?)
     ON CONFLICT (scope_id, thread_id) DO UPDATE SET epoch = excluded.epoch`,
    ...[scopeId, threadId, epoch],
  );
  const superseded = loadQueued(tx, scopeId, threadId).map((dispatch) =>
    writeDispatch(tx, access, supersedeDispatch(dispatch, INTERRUPTED, env.clock())),
  );
  const sql = `SELECT ${DISPATCH_ROW} FROM dispatch WHERE scope_id = ? AND thread_id = ? AND status = 'claimed'`;
  const row = tx.get(sql, scopeId, threadId);
  const claimed = row && readDispatch(row);
  return { epoch, superseded, ...(claimed?.status === "claimed" && { claimed }) };
}

function claimRows(access: Access): ClaimRows {
  const { scopeId, session, env } = access;
  return {
    moveHeld: (fence, move) =>
      session.write(
        keeping((tx) => {
          const { claim, dispatch } = readFence(tx, access, fence);
          if (dispatch === undefined || claim === "lost") return "lost";
          if (claim === "held") return writeDispatch(tx, access, move(dispatch, env.clock()));
          writeDispatch(tx, access, supersedeDispatch(dispatch, INTERRUPTED, env.clock()));
          return claim;
        }),
      ),

    moveOwn: (fence, move) =>
      session.write(
        keeping((tx) => {
          const { claim, dispatch } = readFence(tx, access, fence);
          return dispatch === undefined || claim === "lost" ? undefined : writeDispatch(tx, access, move(dispatch, env.clock()));
        }),
      ),

    hasWishes: (runId) => session.read((db) => loadOpenWishes(db, scopeId, runId).length > 0),
  };
}

function readFence(tx: Tx, { scopeId }: Access, { dispatchId, claimToken }: Fence) {
  const dispatch = loadDispatch(tx, scopeId, dispatchId);
  const claim = readClaim(dispatch, claimToken, dispatch === undefined ? 0 : loadEpoch(tx, scopeId, dispatch.threadId));
  return { claim, dispatch: dispatch?.status === "claimed" ? dispatch : undefined };
}

function reads({ scopeId, session }: Access): Pick<DispatchStore, "load" | "list" | "listAll" | "countByStatus"> {
  return {
    load: (id) => session.read((db) => loadDispatch(db, scopeId, id)),

    list: (threadId, { statuses, offset = 0, limit }) =>
      session.read((db) => {
        const where = new Conditions("?").add("scope_id = ?", scopeId).add("thread_id = ?", threadId).oneOf("status", statuses);
        const page = [clampLimit(limit), Math.max(Math.trunc(offset), 0)];
        const tail = where.bind("ORDER BY priority, created_at, dispatch_id LIMIT ? OFFSET ?", ...page);
        return db.all(`SELECT ${DISPATCH_ROW} FROM dispatch ${where.where} ${tail}`, ...where.values).map(readDispatch);
      }),

    listAll: ({ statuses, after, limit }) =>
      session.read((db) => {
        const where = dispatchConditions(new Conditions("?").add("scope_id = ?", scopeId), statuses, after);
        const size = clampLimit(limit);
        const tail = where.bind("ORDER BY created_at, dispatch_id LIMIT ?", size + 1);
        const rows = db.all(`SELECT ${DISPATCH_ROW} FROM dispatch ${where.where} ${tail}`, ...where.values);
        return toPage(rows.map(readDispatch), size, dispatchPosition);
      }),

    countByStatus: () =>
      session.read((db) =>
        countDispatches(db.all("SELECT status, count(*) AS n FROM dispatch WHERE scope_id = ? GROUP BY status", scopeId)),
      ),
  };
}

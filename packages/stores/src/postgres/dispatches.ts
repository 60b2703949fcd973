import type { ThreadId } from "@awaken/contract";
import {
  cancelDispatch,
  clampLimit,
  type DispatchRecord,
  type DispatchStore,
  type Fence,
  type InterruptedThread,
  readClaim,
  supersedeDispatch,
} from "@awaken/contract/store";
import { planEnqueue } from "../plan/dispatch-plan.ts";
import { dispatchPosition } from "../sql/columns.ts";
import { Conditions, dispatchConditions } from "../sql/conditions.ts";
import { toPage } from "../sql/rows.ts";
import { countDispatches } from "../sql/run-row.ts";
import { type ClaimRows, INTERRUPTED, type Move, workerMoves } from "../worker-moves.ts";
import type { Access } from "./access.ts";
import type { Finish, Tx } from "./attempt.ts";
import { claimNext } from "./claims.ts";
import {
  finishMoves,
  insertDispatch,
  lockDispatch,
  moveDispatches,
  newcomer,
  queuedIn,
  readDispatch,
  readEpoch,
  readQueueState,
  selectDispatch,
  selectEpoch,
  selectOpen,
  selectQueueState,
  tellDispatches,
} from "./dispatch-rows.ts";
import { lockThread, lockThreadOf } from "./locks.ts";
import { sql } from "./statement.ts";
import { selectOpenWishes } from "./wishes.ts";

export const dispatchPort = (access: Access): DispatchStore => ({
  ...queueMoves(access),
  ...workerMoves(claimRows(access)),
  ...reads(access),
});

type QueueMove = "enqueue" | "claim" | "claimDispatch" | "cancel" | "interrupt" | "removeDeadLetter" | "hint";

function queueMoves(access: Access): Pick<DispatchStore, QueueMove> {
  const { scopeId, session, env, wire } = access;
  return {
    enqueue: (init) =>
      session.write(async (tx) => {
        const { threadId } = init;
        const [, state = []] = await tx.read(lockThread(scopeId, threadId), selectQueueState(scopeId, threadId, newcomer(init)));
        const queued = planEnqueue(init, readQueueState(state), env.clock());
        return { writes: insertDispatch(scopeId, queued), result: queued, tell: tellDispatches(access, [queued]) };
      }),

    claim: (threadId, request) => claimNext(access, threadId, { request }),

    async claimDispatch(id, request) {
      const [row] = (await session.read(selectDispatch(scopeId, id))).map(readDispatch);
      return row && claimNext(access, row.threadId, { request, id });
    },

    cancel: (id) =>
      session.write(async (tx) => {
        const [, rows = []] = await tx.read(lockThreadOf(scopeId, id), lockDispatch(scopeId, id));
        const [dispatch] = rows.map(readDispatch);
        if (dispatch?.status !== "queued") return { writes: [], result: undefined };
        const cancelled = cancelDispatch(dispatch, env.clock());
        return finishMoves(access, [cancelled], cancelled);
      }),

    interrupt: (threadId) => session.write((tx) => interrupt(tx, access, threadId)),

    removeDeadLetter: (id) =>
      session.write(async (tx) => {
        const [, rows = []] = await tx.read(lockThreadOf(scopeId, id), lockDispatch(scopeId, id));
        const [dispatch] = rows.map(readDispatch);
        if (dispatch?.status !== "dead-letter") return { writes: [], result: undefined };
        return { writes: [sql("DELETE FROM ~dispatch WHERE scope_id = $1 AND dispatch_id = $2", scopeId, id)], result: dispatch };
      }),

    hint: (hint) => session.write(async () => ({ writes: [], result: undefined, tell: () => wire.hint({ ...hint, scopeId }) })),
  };
}

async function interrupt(tx: Tx, access: Access, threadId: ThreadId): Promise<Finish<InterruptedThread>> {
  const { scopeId, env } = access;
  const [, epochRows = [], rows = []] = await tx.read(
    lockThread(scopeId, threadId),
    selectEpoch(scopeId, threadId),
    selectOpen(scopeId, threadId),
  );
  const epoch = readEpoch(epochRows) + 1;
  const open = rows.map(readDispatch);
  const superseded = queuedIn(open).map((row) => supersedeDispatch(row, INTERRUPTED, env.clock()));
  const claimed = open.find((row) => row.status === "claimed");
  const raise = sql(
    `INSERT INTO ~thread_epoch (scope_id, thread_id, epoch) VALUES ($1, $2, $3)
     ON CONFLICT (scope_id, thread_id) DO UPDATE SET epoch = excluded.epoch`,
    ...[scopeId, threadId, epoch],
  );
  return {
    writes: [raise, ...moveDispatches(scopeId, superseded)],
    result: { epoch, superseded, ...(claimed && { claimed }) },
    tell: tellDispatches(access, superseded),
  };
}

function claimRows(access: Access): ClaimRows {
  const { scopeId, session } = access;
  return {
    moveHeld: (fence, move) => session.write((tx) => moveHeld(tx, access, fence, move)),

    moveOwn: (fence, move) =>
      session.write(async (tx) => {
        const { dispatch } = await loadFenced(tx, access, fence);
        if (dispatch?.status !== "claimed" || dispatch.claimToken !== fence.claimToken) return { writes: [], result: undefined };
        const moved = move(dispatch, access.env.clock());
        return finishMoves(access, [moved], moved);
      }),

    hasWishes: async (runId) => (await session.read(selectOpenWishes(scopeId, runId))).length > 0,
  };
}

async function loadFenced(tx: Tx, { scopeId }: Access, { dispatchId }: Fence) {
  const epochOf = `SELECT e.epoch FROM ~thread_epoch e JOIN ~dispatch d ON d.scope_id = e.scope_id AND d.thread_id = e.thread_id
    WHERE d.scope_id = $1 AND d.dispatch_id = $2`;
  const [, rows = [], epoch = []] = await tx.read(
    lockThreadOf(scopeId, dispatchId),
    lockDispatch(scopeId, dispatchId),
    sql(epochOf, scopeId, dispatchId),
  );
  return { dispatch: rows.map(readDispatch)[0], epoch: readEpoch(epoch) };
}

async function moveHeld<T extends DispatchRecord>(
  tx: Tx,
  access: Access,
  fence: Fence,
  move: Move<T>,
): Promise<Finish<T | "lost" | "stale">> {
  const now = access.env.clock();
  const { dispatch, epoch } = await loadFenced(tx, access, fence);
  const claim = readClaim(dispatch, fence.claimToken, epoch);
  if (dispatch?.status !== "claimed" || claim === "lost") return { writes: [], result: "lost" };
  if (claim === "stale") return finishMoves(access, [supersedeDispatch(dispatch, INTERRUPTED, now)], claim);
  const moved = move(dispatch, now);
  return finishMoves(access, [moved], moved);
}

function reads({ scopeId, session }: Access): Pick<DispatchStore, "load" | "list" | "listAll" | "countByStatus"> {
  return {
    load: async (id) => (await session.read(selectDispatch(scopeId, id))).map(readDispatch)[0],

    async list(threadId, { statuses, offset = 0, limit }) {
      const where = new Conditions("$").add("scope_id = ?", scopeId).add("thread_id = ?", threadId).oneOf("status", statuses);
      const [size, skipped] = [clampLimit(limit), Math.max(Math.trunc(offset), 0)];
      const order = "ORDER BY priority, created_at, dispatch_id";
      // A limit that the server does not know beforehand makes it plan each time.
      const isUsual = limit === undefined && skipped === 0;
      const tail = isUsual ? `${order} LIMIT ${size}` : where.bind(`${order} LIMIT ? OFFSET ?`, size, skipped);
      const rows = await session.read(sql(`SELECT dispatch_id, record FROM ~dispatch ${where.where} ${tail}`, ...where.values));
      return rows.map(readDispatch);
    },

    async listAll({ statuses, after, limit }) {
      const where = dispatchConditions(new Conditions("$").add("scope_id = ?", scopeId), statuses, after);
      const size = clampLimit(limit);
      const tail = where.bind("ORDER BY created_at, dispatch_id LIMIT ?", size + 1);
      const rows = await session.read(sql(`SELECT dispatch_id, record FROM ~dispatch ${where.where} ${tail}`, ...where.values));
      return toPage(rows.map(readDispatch), size, dispatchPosition);
    },

    countByStatus: async () =>
      countDispatches(await session.read(sql("SELECT status, count(*) AS n FROM ~dispatch WHERE scope_id = $1 GROUP BY status", scopeId))),
  };
}

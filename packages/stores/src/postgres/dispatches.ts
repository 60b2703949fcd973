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
import { planEnqueue } from "../plan/enqueue-plan.ts";
import { dispatchPosition } from "../sql/columns.ts";
import { Conditions, dispatchConditions } from "../sql/conditions.ts";
import { toPage } from "../sql/rows.ts";
import { countDispatches } from "../sql/run-row.ts";
import { type ClaimRows, dispatchEntries, INTERRUPTED, type Move, workerMoves } from "../worker-moves.ts";
import type { Access } from "./access.ts";
import type { Finish, Tx } from "./attempt.ts";
import { claimNext } from "./claims.ts";
import {
  finishMoves,
  finishSeen,
  insertDispatch,
  lockDispatch,
  moveDispatches,
  newcomer,
  queuedIn,
  readDispatch,
  readEpoch,
  readQueueState,
  readSeen,
  seeDispatch,
  selectDispatch,
  selectEpoch,
  selectOpen,
  selectQueueState,
  tellDispatches,
} from "./dispatch-rows.ts";
import { lockThread, lockThreadOf } from "./locks.ts";
import { SERVER_TIME } from "./server-clock.ts";
import { sql } from "./statement.ts";

export const dispatchPort = (access: Access): DispatchStore =>
  dispatchEntries({
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
  const { scopeId, session, env, clock } = access;
  return {
    moveHeld: <T extends DispatchRecord>(fence: Fence, move: Move<T>) =>
      moveFenced<T | "lost" | "stale">(access, fence, (dispatch, epoch) => {
        const now = env.clock();
        const claim = readClaim(dispatch, fence.claimToken, epoch);
        if (dispatch?.status !== "claimed" || claim === "lost") return { result: "lost" };
        if (claim === "stale") return { after: supersedeDispatch(dispatch, INTERRUPTED, now), result: claim };
        const after = move(dispatch, now);
        return { after, result: after };
      }),

    moveOwn: <T extends DispatchRecord>(fence: Fence, move: Move<T>) =>
      moveFenced<T | undefined>(access, fence, (dispatch) => {
        if (dispatch?.status !== "claimed" || dispatch.claimToken !== fence.claimToken) return { result: undefined };
        const after = move(dispatch, env.clock());
        return { after, result: after };
      }),

    hasWishes: async (runId) => {
      const text = `SELECT EXISTS (SELECT 1 FROM ~wish WHERE scope_id = $1 AND run_id = $2 AND taken_at IS NULL) AS has_wishes, ${SERVER_TIME}`;
      const [row] = await clock.hear(() => session.read(sql(text, scopeId, runId)));
      return row?.["has_wishes"] === true;
    },
  };
}

interface Moved<T> {
  /** Undefined when nothing is written. */
  readonly after?: DispatchRecord;
  readonly result: T;
}

/**
 * Nothing is held between the two trips: a process that stops there, as one may whose lease is over soon, would keep the thread from those
 * who take its place. What has changed in between is read again while nobody else has the thread.
 */
function moveFenced<T>(
  access: Access,
  { dispatchId }: Fence,
  plan: (dispatch: DispatchRecord | undefined, epoch: number) => Moved<T>,
): Promise<T> {
  const { scopeId, session } = access;
  const see = seeDispatch(scopeId, dispatchId);
  let isLocked = false;
  return session.write(async (tx): Promise<Finish<T>> => {
    const isHeld = isLocked;
    isLocked = true;
    const locks = [lockThreadOf(scopeId, dispatchId), lockDispatch(scopeId, dispatchId)];
    const rows = isHeld ? ((await tx.read(...locks, see)).at(-1) ?? []) : await tx.look(see);
    const [seen] = rows.map(readSeen);
    const { after, result } = plan(seen?.dispatch, seen?.epoch ?? 0);
    if (seen === undefined || after === undefined) return { writes: [], result };
    return isHeld ? finishMoves(access, [after], result) : finishSeen(access, seen, after, result);
  });
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

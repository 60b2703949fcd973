import {
  ackDispatch,
  type ClaimedDispatch,
  type ClaimRequest,
  cancelDispatch,
  claimQueued,
  clampLimit,
  type DispatchId,
  type DispatchRecord,
  type DispatchStore,
  deadLetterDispatch,
  extendLease,
  type Fence,
  type Interruption,
  nackDispatch,
  type QueuedDispatch,
  readClaim,
  recordResult,
  recordStart,
  releaseDispatch,
  supersedeDispatch,
  type ThreadId,
} from "@awaken/contract";
import { Conditions } from "../sql/conditions.ts";
import { fenceLost, INTERRUPTED, planEnqueue } from "../sql/dispatch-plan.ts";
import { countDispatches } from "../sql/run-row.ts";
import type { Access } from "./access.ts";
import type { Tx } from "./database.ts";
import { hasClaim, loadDispatch, loadEpoch, loadQueued, queueReads, readDispatch, writeDispatch } from "./dispatch-rows.ts";

export const dispatchPort = (access: Access): DispatchStore => ({ ...queueMoves(access), ...workerMoves(access), ...reads(access) });

type QueueMove = "enqueue" | "claim" | "claimDispatch" | "cancel" | "interrupt" | "hint";

function queueMoves(access: Access): Pick<DispatchStore, QueueMove> {
  const { scopeId, session, env, channels } = access;
  return {
    enqueue: (init) =>
      session.write((tx) => writeDispatch(tx, access, planEnqueue(init, queueReads(tx, scopeId, init.threadId), env.clock()))),

    claim: (threadId, request) =>
      session.write((tx) => {
        const now = env.clock();
        const next = freshRows(tx, access, threadId).find((dispatch) => dispatch.availableAt <= now);
        return claimRow(tx, access, next, request);
      }),

    claimDispatch: (id: DispatchId, request) =>
      session.write((tx) => {
        const threadId = loadDispatch(tx, scopeId, id)?.threadId;
        if (threadId === undefined) return undefined;
        const wanted = freshRows(tx, access, threadId).find((dispatch) => dispatch.dispatchId === id);
        return claimRow(tx, access, wanted, request);
      }),

    cancel: (id) =>
      session.write((tx) => {
        const dispatch = loadDispatch(tx, scopeId, id);
        return dispatch?.status === "queued" ? writeDispatch(tx, access, cancelDispatch(dispatch, env.clock())) : undefined;
      }),

    interrupt: (threadId) => session.write((tx) => interrupt(tx, access, threadId)),

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

function claimRow(tx: Tx, access: Access, queued: QueuedDispatch | undefined, request: ClaimRequest): ClaimedDispatch | undefined {
  const { scopeId, env } = access;
  if (queued === undefined || hasClaim(tx, scopeId, queued.threadId)) return undefined;
  const lease = { claimToken: env.ids(), claimedBy: request.consumer, leaseMs: request.leaseMs, now: env.clock() };
  return writeDispatch(tx, access, claimQueued(queued, lease));
}

function interrupt(tx: Tx, access: Access, threadId: ThreadId): Interruption {
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
  const sql = "SELECT dispatch_id, record FROM dispatch WHERE scope_id = ? AND thread_id = ? AND status = 'claimed'";
  const row = tx.get(sql, scopeId, threadId);
  const claimed = row && readDispatch(row);
  return { epoch, superseded, ...(claimed?.status === "claimed" && { claimed }) };
}

type WorkerMove = "extendLease" | "recordStart" | "recordResult" | "ack" | "nack" | "deadLetter" | "release" | "supersedeClaimed";

/** What the holder of a claim may do. */
function workerMoves(access: Access): Pick<DispatchStore, WorkerMove> {
  const { session, env } = access;

  /** Moves the row of a fence that is held; a stale one is superseded for good before the fence is refused. */
  async function settle<T extends DispatchRecord>(fence: Fence, move: (claimed: ClaimedDispatch, now: number) => T): Promise<T> {
    const settled = await session.write((tx) => {
      const { claim, claimed } = readFence(tx, access, fence);
      if (claimed === undefined) return claim;
      return { moved: writeDispatch(tx, access, move(claimed, env.clock())) };
    });
    if (typeof settled === "string") throw fenceLost(fence.dispatchId, settled);
    return settled.moved;
  }

  return {
    extendLease: (fence, leaseMs) =>
      session.write((tx) => {
        const { claimed } = readFence(tx, access, fence);
        if (claimed !== undefined) writeDispatch(tx, access, extendLease(claimed, leaseMs, env.clock()));
        return claimed !== undefined;
      }),

    async recordStart(fence, instanceId) {
      await settle(fence, (claimed, now) => recordStart(claimed, instanceId, now));
    },

    async recordResult(fence, result) {
      await settle(fence, (claimed, now) => recordResult(claimed, result, now));
    },

    async ack(fence) {
      await settle(fence, ackDispatch);
    },

    nack: (fence, failure) => settle(fence, (claimed, now) => nackDispatch(claimed, { ...failure, now })),

    deadLetter: (fence, error) => settle(fence, (claimed, now) => deadLetterDispatch(claimed, error, now)),

    release: (fence) => settle(fence, releaseDispatch),

    supersedeClaimed: (fence, reason) =>
      session.write((tx) => {
        const dispatch = loadDispatch(tx, access.scopeId, fence.dispatchId);
        if (dispatch?.status !== "claimed" || dispatch.claimToken !== fence.claimToken) return undefined;
        return writeDispatch(tx, access, supersedeDispatch(dispatch, reason, env.clock()));
      }),
  };
}

/** The row when the fence holds. A stale one is superseded. */
function readFence(tx: Tx, access: Access, fence: Fence): { claim: "lost" | "stale"; claimed?: ClaimedDispatch } {
  const { scopeId, env } = access;
  const dispatch = loadDispatch(tx, scopeId, fence.dispatchId);
  if (dispatch?.status !== "claimed") return { claim: "lost" };
  const claim = readClaim(dispatch, fence.claimToken, loadEpoch(tx, scopeId, dispatch.threadId));
  if (claim === "stale") writeDispatch(tx, access, supersedeDispatch(dispatch, INTERRUPTED, env.clock()));
  return claim === "held" ? { claim: "lost", claimed: dispatch } : { claim };
}

function reads({ scopeId, session }: Access): Pick<DispatchStore, "load" | "list" | "countByStatus"> {
  return {
    load: (id) => session.read((db) => loadDispatch(db, scopeId, id)),

    list: (threadId, { statuses, offset = 0, limit }) =>
      session.read((db) => {
        const where = new Conditions("?").add("scope_id = ?", scopeId).add("thread_id = ?", threadId).oneOf("status", statuses);
        const page = [clampLimit(limit), Math.max(Math.trunc(offset), 0)];
        const tail = where.bind("ORDER BY priority, created_at, dispatch_id LIMIT ? OFFSET ?", ...page);
        return db.all(`SELECT dispatch_id, record FROM dispatch ${where.where} ${tail}`, ...where.values).map(readDispatch);
      }),

    countByStatus: () =>
      session.read((db) =>
        countDispatches(db.all("SELECT status, count(*) AS n FROM dispatch WHERE scope_id = ? GROUP BY status", scopeId)),
      ),
  };
}

import type { DispatchId, ThreadId } from "@awaken/contract";
import {
  type Claim,
  type ClaimedDispatch,
  type ClaimedRecords,
  type ClaimRequest,
  cancelDispatch,
  clampLimit,
  compareDispatches,
  type DeadLetterDispatch,
  type DispatchPosition,
  type DispatchRecord,
  type DispatchStore,
  type InterruptedThread,
  type QueuedDispatch,
  type SupersededDispatch,
  supersedeDispatch,
} from "@awaken/contract/store";
import { type ClaimRows, dispatchEntries, INTERRUPTED, workerMoves } from "../worker-moves.ts";
import { claimRow, countDispatches, enqueue, readFence, writeDispatch } from "./dispatch-rows.ts";
import { idsOf, withoutId } from "./ids.ts";
import { compareText, pickFirst } from "./pick.ts";
import { openDispatches, openWishes } from "./reads.ts";
import { share } from "./share.ts";
import { type Access, type Change, type Tables, threadRow } from "./tables.ts";
import { headOf } from "./threads.ts";

export const dispatchPort = (access: Access): DispatchStore =>
  dispatchEntries({
    ...queueMoves(access),
    ...workerMoves(claimRows(access)),
    ...reads(access),
  });

type QueueMove = "enqueue" | "claim" | "claimDispatch" | "cancel" | "interrupt" | "removeDeadLetter" | "hint";

function queueMoves({ write }: Access): Pick<DispatchStore, QueueMove> {
  return {
    enqueue: (dispatch) => write((change) => share(enqueue(change, dispatch))),

    claim: (threadId, request) => write((change) => claimOf(change.tables, claimNext(change, threadId, request))),

    claimDispatch: (id, request) => write((change) => claimOf(change.tables, claimOne(change, id, request))),

    cancel: (id) =>
      write((change) => {
        const dispatch = change.tables.dispatches.get(id);
        return dispatch?.status === "queued" ? share(writeDispatch(change, cancelDispatch(dispatch, change.now))) : undefined;
      }),

    interrupt: (threadId) => write((change) => interrupt(change, threadId)),

    removeDeadLetter: (id) => write((change) => share(removeDeadLetter(change, id))),

    hint: (hint) =>
      write(({ tables, journal }) => {
        journal.after(() => tables.hints.send({ ...hint, scopeId: tables.scopeId }));
      }),
  };
}

function claimRows({ read, write }: Access): ClaimRows {
  return {
    moveHeld: (fence, move) =>
      write((change) => {
        const { state, claimed } = readFence(change.tables, fence);
        if (claimed === undefined || state === "lost") return "lost";
        if (state === "held") return share(writeDispatch(change, move(claimed, change.now)));
        writeDispatch(change, supersedeDispatch(claimed, INTERRUPTED, change.now));
        return state;
      }),

    moveOwn: (fence, move) =>
      write((change) => {
        const { claimed } = readFence(change.tables, fence);
        return claimed === undefined ? undefined : share(writeDispatch(change, move(claimed, change.now)));
      }),

    hasWishes: (runId) => read((tables) => openWishes(tables, runId).length > 0),
  };
}

const compareAge = (a: DispatchPosition, b: DispatchPosition): number =>
  a.createdAt - b.createdAt || compareText(a.dispatchId, b.dispatchId);

function reads({ read }: Access): Pick<DispatchStore, "load" | "list" | "listAll" | "countByStatus"> {
  return {
    load: (id) => read((tables) => share(tables.dispatches.get(id))),

    list: (threadId, { statuses, offset = 0, limit }) =>
      read((tables) => {
        const found = dispatchesOf(tables, threadId).filter(({ status }) => statuses?.includes(status) ?? true);
        const from = Math.max(Math.trunc(offset), 0);
        return found
          .sort(compareDispatches)
          .slice(from, from + clampLimit(limit))
          .map(share);
      }),

    listAll: ({ statuses, after, limit }) =>
      read((tables) => {
        const isBehind = (dispatch: DispatchRecord) => after === undefined || compareAge(dispatch, after) > 0;
        const found = [...tables.dispatches.values()].filter((dispatch) => statuses.includes(dispatch.status) && isBehind(dispatch));
        const { items, hasMore } = pickFirst(found, compareAge, limit);
        const last = hasMore ? items.at(-1) : undefined;
        return {
          items: items.map(share),
          ...(last === undefined ? undefined : { next: { createdAt: last.createdAt, dispatchId: last.dispatchId } }),
        };
      }),

    countByStatus: () => read((tables) => countDispatches(tables.dispatches.values())),
  };
}

function dispatchesOf(tables: Tables, threadId: ThreadId): DispatchRecord[] {
  const row = tables.threads.get(threadId);
  const ids: readonly DispatchId[] = row === undefined ? [] : [...idsOf(row.openIds), ...idsOf(row.overIds)];
  return ids.flatMap((id) => tables.dispatches.get(id) ?? []);
}

/** Queued rows of the thread; those of an older epoch are superseded. */
function freshRows(change: Change, threadId: ThreadId): readonly QueuedDispatch[] {
  const row = change.tables.threads.get(threadId);
  const fresh: QueuedDispatch[] = [];
  for (const dispatch of [...openDispatches(change.tables, row)]) {
    if (dispatch.status !== "queued") continue;
    if (dispatch.epoch < (row?.epoch ?? 0)) writeDispatch(change, supersedeDispatch(dispatch, INTERRUPTED, change.now));
    else fresh.push(dispatch);
  }
  return fresh;
}

const isFree = (tables: Tables, threadId: ThreadId): boolean => tables.threads.get(threadId)?.claimed === undefined;

function claimNext(change: Change, threadId: ThreadId, request: ClaimRequest): ClaimedDispatch | undefined {
  const fresh = freshRows(change, threadId);
  if (!isFree(change.tables, threadId)) return undefined;
  const [next] = fresh.filter((dispatch) => dispatch.availableAt <= change.now).sort(compareDispatches);
  return next === undefined ? undefined : claimRow(change, next, request);
}

function claimOne(change: Change, id: DispatchId, request: ClaimRequest): ClaimedDispatch | undefined {
  const threadId = change.tables.dispatches.get(id)?.threadId;
  if (threadId === undefined) return undefined;
  const wanted = freshRows(change, threadId).find((dispatch) => dispatch.dispatchId === id);
  return wanted === undefined || !isFree(change.tables, threadId) ? undefined : claimRow(change, wanted, request);
}

/** What its run begins with. */
function claimOf(tables: Tables, claimed: ClaimedDispatch | undefined): Claim | undefined {
  if (claimed === undefined) return undefined;
  const row = tables.threads.get(claimed.threadId);
  const queued = [...openDispatches(tables, row)].flatMap((open) => (open.status === "queued" ? [open] : []));
  const records: ClaimedRecords = {
    run: share(tables.runs.get(claimed.runId)),
    head: headOf(tables, row),
    pending: (row?.pending ?? []).map(share),
    wishes: openWishes(tables, claimed.runId).map(share),
    queued: queued.sort(compareDispatches).slice(0, clampLimit()).map(share),
  };
  return { dispatch: share(claimed), records };
}

function removeDeadLetter({ tables, journal }: Change, id: DispatchId): DeadLetterDispatch | undefined {
  const dispatch = tables.dispatches.get(id);
  if (dispatch?.status !== "dead-letter") return undefined;
  const row = threadRow(tables, dispatch.threadId);
  journal.assign(row, "overIds", withoutId(row.overIds, id));
  journal.delete(tables.dispatches, id);
  return dispatch;
}

function interrupt(change: Change, threadId: ThreadId): InterruptedThread {
  const { tables, journal } = change;
  const row = threadRow(tables, threadId);
  const epoch = row.epoch + 1;
  journal.assign(row, "epoch", epoch);
  const superseded: SupersededDispatch[] = [];
  for (const dispatch of [...openDispatches(tables, row)].sort(compareDispatches)) {
    if (dispatch.status === "queued") superseded.push(share(writeDispatch(change, supersedeDispatch(dispatch, INTERRUPTED, change.now))));
  }
  return { epoch, superseded, ...(row.claimed === undefined ? undefined : { claimed: share(row.claimed) }) };
}

import {
  ackDispatch,
  type ClaimedDispatch,
  type ClaimRequest,
  claimQueued,
  type DispatchRecord,
  deadLetterDispatch,
  dispatchRecord,
  type Fence,
  isComposed,
  isDispatchOver,
  isEnding,
  type NewDispatch,
  needsFence,
  type QueuedDispatch,
  readClaim,
  recordResult,
  type ThreadCommit,
} from "@awaken/contract/store";
import { planEnqueue, planFollowUp, type QueueReads } from "../plan/dispatch-plan.ts";
import { fenceLost, fenceMissing } from "../worker-moves.ts";
import { own } from "./own.ts";
import { type Change, type Tables, type ThreadRow, threadRow } from "./tables.ts";

/** The one place that writes a dispatch that was made of what others say. */
export function writeDispatch<T extends DispatchRecord>(change: Change, dispatch: T): T {
  dispatchRecord.check(dispatch);
  return placeDispatch(change, own(dispatch));
}

/** The same for one that is the store's own: it keeps the lists of its thread in step. */
function placeDispatch<T extends DispatchRecord>(change: Change, owned: T): T {
  const { tables, journal } = change;
  const { dispatchId: id, threadId, status } = owned;
  const row = threadRow(change, threadId);
  journal.set(tables.dispatches, id, owned);
  // Empty ones do no harm, so they stay when the work is taken back.
  row.dispatchIds ??= { open: new Set(), over: undefined };
  const { dispatchIds } = row;
  const { open } = dispatchIds;
  if (isDispatchOver(owned)) {
    journal.remove(open, id);
    dispatchIds.over ??= new Set();
    journal.add(dispatchIds.over, id);
  } else journal.add(open, id);
  if (status === "claimed") journal.assign(row, "claimedId", id);
  else if (row.claimedId === id) journal.assign(row, "claimedId", undefined);
  if (open.size > 0) journal.add(tables.busyThreads, threadId);
  else journal.remove(tables.busyThreads, threadId);
  const isFreed = isDispatchOver(owned) && open.size > 0 && row.claimedId === undefined;
  if (status === "queued" || isFreed) journal.after(() => tables.hints.send({ type: "enqueued", scopeId: tables.scopeId, threadId }));
  return owned;
}

export function* openDispatches(tables: Tables, row: ThreadRow | undefined): Iterable<DispatchRecord> {
  for (const id of row?.dispatchIds?.open ?? []) {
    const dispatch = tables.dispatches.get(id);
    if (dispatch !== undefined) yield dispatch;
  }
}

export function enqueue(change: Change, init: NewDispatch): QueuedDispatch {
  return writeDispatch(change, prepare(change, init));
}

const prepare = (change: Change, init: NewDispatch): QueuedDispatch =>
  planEnqueue(init, queueReads(change.tables, change.tables.threads.get(init.threadId)), change.now);

export const claimRow = (change: Change, queued: QueuedDispatch, claim: ClaimRequest): ClaimedDispatch =>
  writeDispatch(change, claimed(change, queued, claim));

const claimed = ({ tables, now }: Change, queued: QueuedDispatch, { consumer, leaseMs }: ClaimRequest): ClaimedDispatch =>
  claimQueued(queued, { claimToken: tables.ids(), claimedBy: consumer, leaseMs, now });

/** How the fence stands to its row, and the row if it is claimed under the fence's token. */
export function readFence(
  tables: Tables,
  { dispatchId, claimToken }: Fence,
): { state: "held" | "stale" | "lost"; claimed?: ClaimedDispatch } {
  const dispatch = tables.dispatches.get(dispatchId);
  const epoch = dispatch === undefined ? 0 : (tables.threads.get(dispatch.threadId)?.epoch ?? 0);
  const state = readClaim(dispatch, claimToken, epoch);
  return dispatch?.status === "claimed" && state !== "lost" ? { state, claimed: dispatch } : { state: "lost" };
}

/** The dispatch of a commit's fence; `fence_lost` unless it is held, for this thread and run. */
export function checkFence({ tables }: Change, row: ThreadRow, commit: ThreadCommit): ClaimedDispatch | undefined {
  const { fence, threadId, runId } = commit;
  if (fence === undefined) {
    if (row.claimedId !== undefined && needsFence(commit, tables.runs.get(runId))) throw fenceMissing(threadId);
    return undefined;
  }
  const { state, claimed } = readFence(tables, fence);
  if (state === "held" && claimed?.threadId === threadId && (claimed.runId === runId || isEnding(commit))) return claimed;
  throw fenceLost(fence.dispatchId, state === "stale" ? "stale" : "lost");
}

/** What a commit does to the queue: `held` is the dispatch of its fence. Rows that a composed commit leads to are the store's own. */
export function changeDispatch(
  change: Change,
  row: ThreadRow,
  commit: ThreadCommit,
  held: ClaimedDispatch | undefined,
): DispatchRecord | undefined {
  const { dispatch } = commit;
  if (dispatch === undefined) return undefined;
  const write = isComposed(commit) ? placeDispatch : writeDispatch;
  switch (dispatch.type) {
    case "enqueue":
      return write(change, prepare(change, dispatch.dispatch));
    case "enqueue-claimed": {
      if (row.claimedId !== undefined) throw fenceMissing(commit.threadId);
      return write(change, claimed(change, prepare(change, dispatch.dispatch), dispatch.claim));
    }
    case "ack":
      return held && write(change, ackDispatch(recordResult(held, dispatch.result, change.now), change.now));
    case "dead-letter":
      return held && write(change, deadLetterDispatch(held, dispatch.error, change.now));
  }
}

export const queueReads = (tables: Tables, row: ThreadRow | undefined): QueueReads => ({
  epoch: () => row?.epoch ?? 0,
  isKnown: (id) => tables.dispatches.has(id),
  holder: (key) => [...openDispatches(tables, row)].find(({ dedupeKey }) => dedupeKey === key)?.dispatchId,
  hasClaim: () => row?.claimedId !== undefined,
  hasQueued: () => [...openDispatches(tables, row)].some(({ status }) => status === "queued"),
});

/** What a commit leaves to do, unless an open dispatch does it. `held` is the dispatch of its fence, as it was before. */
export function enqueueNext(
  change: Change,
  row: ThreadRow,
  wanted: NewDispatch,
  { isNewRun, held, isSettled }: { readonly isNewRun: boolean; readonly held: ClaimedDispatch | undefined; readonly isSettled: boolean },
): QueuedDispatch | undefined {
  const { tables, now } = change;
  const reads = queueReads(tables, row);
  if (isNewRun && reads.hasQueued()) return undefined;
  const next = planFollowUp(wanted, { fenced: held?.dispatchId, isSettled, now }, reads);
  return next && writeDispatch(change, next);
}

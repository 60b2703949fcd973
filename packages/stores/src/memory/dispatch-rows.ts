import {
  type ClaimedDispatch,
  type ClaimRequest,
  claimQueued,
  type DispatchRecord,
  type DispatchStatus,
  dispatchRecord,
  type Fence,
  isDispatchOver,
  type NewDispatch,
  type QueuedDispatch,
  readClaim,
} from "@awaken/contract/store";
import { planEnqueue } from "../plan/dispatch-plan.ts";
import { own } from "./own.ts";
import { ThreadReads } from "./reads.ts";
import { type Change, type Tables, type ThreadRow, threadRow } from "./tables.ts";

/** The one place that writes a dispatch that was made of what others say. */
export function writeDispatch<T extends DispatchRecord>(change: Change, dispatch: T): T {
  dispatchRecord.check(dispatch);
  const { tables, journal } = change;
  if (isDispatchOver(dispatch)) journal.after(() => tables.runEvents.get(dispatch.runId)?.wake());
  return placeDispatch(change, threadRow(tables, dispatch.threadId), own(dispatch));
}

/** The same for one that is the store's own: it keeps the lists of its thread in step. */
function placeDispatch<T extends DispatchRecord>({ tables, journal }: Change, row: ThreadRow, owned: T): T {
  const { dispatchId: id, threadId, status } = owned;
  const before = tables.dispatches.get(id);
  const isOver = isDispatchOver(owned);
  journal.set(tables.dispatches, id, owned, before);
  if (before === undefined || isDispatchOver(before) !== isOver) {
    journal.keepField(row, "openIds", row.openIds);
    row.openIds = isOver ? row.openIds.filter((other) => other !== id) : journal.extended(row.openIds, [id]);
    if (isOver) journal.assign(row, "overIds", journal.extended(row.overIds, [id]));
    if (row.openIds.length > 0) journal.add(tables.busyThreads, threadId);
    else journal.remove(tables.busyThreads, threadId);
  }
  if (status === "claimed") journal.assign(row, "claimedId", id);
  else if (row.claimedId === id) journal.assign(row, "claimedId", undefined);
  const isFreed = isOver && row.openIds.length > 0 && row.claimedId === undefined;
  if (status === "queued" || isFreed) journal.after(() => tables.hints.send({ type: "enqueued", scopeId: tables.scopeId, threadId }));
  return owned;
}

export function enqueue(change: Change, init: NewDispatch): QueuedDispatch {
  const { tables, now } = change;
  return writeDispatch(change, planEnqueue(init, new ThreadReads(tables, tables.threads.get(init.threadId)), now));
}

export function claimRow(change: Change, queued: QueuedDispatch, { consumer, leaseMs }: ClaimRequest): ClaimedDispatch {
  const { tables, now } = change;
  return writeDispatch(change, claimQueued(queued, { claimToken: tables.ids(), claimedBy: consumer, leaseMs, now }));
}

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

/** The dispatch that a commit makes or moves. What a composed commit leads to is the store's own. */
export const writeCommitted = <T extends DispatchRecord>(change: Change, row: ThreadRow, dispatch: T, isHandedOver: boolean): T =>
  isHandedOver ? placeDispatch(change, row, dispatch) : writeDispatch(change, dispatch);

export function countDispatches(dispatches: Iterable<DispatchRecord>): Record<DispatchStatus, number> {
  const counts = { queued: 0, claimed: 0, acked: 0, cancelled: 0, superseded: 0, "dead-letter": 0 };
  for (const dispatch of dispatches) counts[dispatch.status]++;
  return counts;
}

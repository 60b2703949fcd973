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
import { planEnqueue } from "../plan/enqueue-plan.ts";
import { own } from "./own.ts";
import { placeDispatch } from "./place-dispatch.ts";
import { ThreadReads } from "./reads.ts";
import { type Change, type Tables, threadRow } from "./tables.ts";

/** The one place that writes a dispatch that was made of what others say. */
export function writeDispatch<T extends DispatchRecord>(change: Change, dispatch: T): T {
  dispatchRecord.check(dispatch);
  const { tables, journal } = change;
  if (isDispatchOver(dispatch)) journal.after(() => tables.runEvents.get(dispatch.runId)?.wake());
  const before = tables.dispatches.get(dispatch.dispatchId);
  const owned = own(dispatch);
  placeDispatch(change, threadRow(tables, dispatch.threadId), before, owned);
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

export function countDispatches(dispatches: Iterable<DispatchRecord>): Record<DispatchStatus, number> {
  const counts = { queued: 0, claimed: 0, acked: 0, cancelled: 0, superseded: 0, "dead-letter": 0 };
  for (const dispatch of dispatches) counts[dispatch.status]++;
  return counts;
}

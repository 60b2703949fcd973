import type { DispatchId } from "@awaken/contract";
import {
  type DispatchRecord,
  followUp,
  type NewDispatch,
  type QueuedDispatch,
  queueBehind,
  type ThreadCommit,
} from "@awaken/contract/store";
import type { QueueReads } from "./dispatch-plan.ts";
import type { PendingPlan, PendingReads } from "./pending-plan.ts";

interface Ending {
  readonly commit: ThreadCommit;
  readonly fenced: DispatchRecord | undefined;
  readonly openWishes: readonly string[];
  readonly pending: PendingPlan;
  readonly now: number;
  readonly ids: () => string;
}

const NO_PENDING: readonly never[] = [];

/** The dispatch for what is left over. */
export function planNext(
  { commit, fenced, openWishes, pending, now, ids }: Ending,
  reads: QueueReads & PendingReads,
): QueuedDispatch | undefined {
  const isOver = commit.run?.status === "done";
  const left = isOver ? leftPending(reads, pending) : NO_PENDING;
  if (left.length + openWishes.length === 0) return undefined;
  const wanted = followUp(commit, { openWishes, pending: left, ids });
  if (wanted === undefined || (isOver && reads.hasQueued())) return undefined;
  return planFollowUp(wanted, { fenced: fenced?.dispatchId, isSettled: commit.dispatch !== undefined, now }, reads);
}

export function leftPending(reads: PendingReads, { added, removed }: PendingPlan): ReturnType<PendingReads["pending"]> {
  const queue = reads.pending();
  if (added.length + removed.length === 0) return queue;
  const gone = new Set(removed);
  return [...queue.filter((entry) => !gone.has(entry.pendingId)), ...added];
}

interface FollowUp {
  /** The dispatch of the commit's own fence, and whether the commit settles it. */
  readonly fenced: DispatchId | undefined;
  readonly isSettled: boolean;
  readonly now: number;
}

/** Undefined when an open dispatch does the same. The writer's own, which is still claimed, does not: it may have looked already. */
function planFollowUp(wanted: NewDispatch, { fenced, isSettled, now }: FollowUp, reads: QueueReads): QueuedDispatch | undefined {
  const { dedupeKey: key, ...keyless } = wanted;
  const holder = key === undefined ? undefined : reads.holder(key);
  if (holder !== undefined && holder !== fenced) return undefined;
  const isFree = holder === undefined || isSettled;
  return queueBehind(reads.newest(), isFree ? wanted : keyless, { epoch: reads.epoch(), now });
}

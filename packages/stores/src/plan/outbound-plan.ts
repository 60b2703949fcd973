import type { ThreadId } from "@awaken/contract";
import {
  type EventAppend,
  type NewDispatch,
  type Outbound,
  type PendingRecord,
  type QueuedDispatch,
  queueBehind,
  toPendingRecords,
} from "@awaken/contract/store";
import type { QueueReads } from "../plan/dispatch-plan.ts";
import type { PendingReads } from "./pending-plan.ts";

type QueueOf = Pick<QueueReads, "epoch" | "isKnown" | "holder" | "newest">;

/** What a commit asks about the threads that it puts something on. */
export interface OutboundReads {
  isDelivered(id: string): boolean;
  thread(id: ThreadId): QueueOf & PendingReads;
}

/** What is put on one thread. */
export interface Delivery {
  readonly threadId: ThreadId;
  readonly pending: readonly PendingRecord[];
  readonly dispatches: readonly QueuedDispatch[];
}

export interface OutboundPlan {
  /** Those that nobody delivered before. */
  readonly ids: readonly string[];
  readonly deliveries: readonly Delivery[];
  readonly events: readonly EventAppend[];
}

const NO_OUTBOUND: OutboundPlan = { ids: [], deliveries: [], events: [] };

interface Asked {
  readonly outbound: OutboundReads;
}

/** Nothing of it makes the commit fail that is there already: a message, a dispatch, a wake under the same key. */
export function planOutbound(outbound: readonly Outbound[] | undefined, asked: Asked, now: number): OutboundPlan {
  if (outbound === undefined || outbound.length === 0) return NO_OUTBOUND;
  const { outbound: reads } = asked;
  const fresh = outbound.filter(({ id }) => !reads.isDelivered(id));
  const threads = new Set(fresh.map(({ threadId }) => threadId));
  return {
    ids: fresh.map(({ id }) => id),
    deliveries: [...threads].map((threadId) =>
      deliver(
        threadId,
        fresh.filter((item) => item.threadId === threadId),
        { reads, now },
      ),
    ),
    events: fresh.flatMap(({ events }) => events ?? []),
  };
}

function deliver(threadId: ThreadId, items: readonly Outbound[], { reads, now }: { reads: OutboundReads; now: number }): Delivery {
  const thread = reads.thread(threadId);
  const messages = items.flatMap(({ pending }) => pending ?? []);
  const queue = messages.length === 0 ? [] : thread.pending();
  const taken = new Set<string>(queue.map((entry) => entry.pendingId));
  for (const id of messages.length === 0 ? [] : thread.committed(messages.map(({ message }) => message.id))) taken.add(id);
  const fresh = messages.filter(({ message }) => !taken.has(message.id) && taken.add(message.id));
  return {
    threadId,
    pending: toPendingRecords(fresh, { threadId, length: queue.length, now }),
    dispatches: planDispatches(
      items.flatMap(({ dispatch }) => dispatch ?? []),
      thread,
      now,
    ),
  };
}

function planDispatches(wanted: readonly NewDispatch[], thread: QueueOf, now: number): readonly QueuedDispatch[] {
  const queued: QueuedDispatch[] = [];
  for (const init of wanted) {
    const { dispatchId, dedupeKey } = init;
    const isThere = queued.some((other) => other.dispatchId === dispatchId || (dedupeKey !== undefined && other.dedupeKey === dedupeKey));
    if (isThere || thread.isKnown(dispatchId) || (dedupeKey !== undefined && thread.holder(dedupeKey) !== undefined)) continue;
    queued.push(queueBehind(queued.at(-1) ?? thread.newest(), init, { epoch: thread.epoch(), now }));
  }
  return queued;
}

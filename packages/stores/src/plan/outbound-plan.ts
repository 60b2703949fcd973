import type { RunId, ThreadId } from "@awaken/contract";
import {
  type EventAppend,
  type NewDispatch,
  type Outbound,
  type PendingRecord,
  type QueuedDispatch,
  queueBehind,
  type ThreadCommit,
  toPendingRecords,
} from "@awaken/contract/store";
import type { QueueReads } from "../plan/dispatch-plan.ts";
import type { PendingReads } from "./pending-plan.ts";

type QueueOf = Pick<QueueReads, "epoch" | "isKnown" | "holder" | "newest">;

interface Known<Id> {
  has(id: Id): boolean;
}

/** What a commit asks about the threads that it puts something on. */
export interface OutboundReads {
  /** What was delivered before, by its id. */
  readonly delivered: Known<string>;
  /** Of all threads. */
  readonly runs: Known<RunId>;
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
export function planOutbound({ outbound, dispatch }: ThreadCommit, asked: Asked, now: number): OutboundPlan {
  if (outbound === undefined || outbound.length === 0) return NO_OUTBOUND;
  const { outbound: reads } = asked;
  const fresh = outbound.filter(({ id, forRun }) => !reads.delivered.has(id) && (forRun === undefined || reads.runs.has(forRun)));
  const queued = planDispatches(fresh, dispatch !== undefined && "dispatch" in dispatch ? dispatch.dispatch : undefined, { reads, now });
  const threads = new Set(fresh.map(({ threadId }) => threadId));
  return {
    ids: fresh.map(({ id }) => id),
    deliveries: [...threads].map((threadId) => ({
      threadId,
      pending: planMessages(
        threadId,
        fresh.filter((item) => item.threadId === threadId),
        { reads, now },
      ),
      dispatches: queued.filter((each) => each.threadId === threadId),
    })),
    events: fresh.flatMap(({ events }) => events ?? []),
  };
}

interface Posting {
  readonly reads: OutboundReads;
  readonly now: number;
}

function planMessages(threadId: ThreadId, items: readonly Outbound[], { reads, now }: Posting): readonly PendingRecord[] {
  const messages = items.flatMap(({ pending }) => pending ?? []);
  if (messages.length === 0) return [];
  const thread = reads.thread(threadId);
  const queue = thread.pending();
  const taken = new Set<string>(queue.map((entry) => entry.pendingId));
  for (const id of thread.committed(messages.map(({ message }) => message.id))) taken.add(id);
  const fresh = messages.filter(({ message }) => !taken.has(message.id) && taken.add(message.id));
  return toPendingRecords(fresh, { threadId, length: queue.length, now });
}

/** In their order, whatever threads they are of: an id is known from the first that has it on, or from the commit's own dispatch. */
function planDispatches(items: readonly Outbound[], own: NewDispatch | undefined, { reads, now }: Posting): readonly QueuedDispatch[] {
  const queued: QueuedDispatch[] = [];
  const known = new Set(own === undefined ? [] : [own.dispatchId]);
  for (const init of items.flatMap(({ dispatch }) => dispatch ?? [])) {
    const { threadId, dispatchId, dedupeKey } = init;
    const thread = reads.thread(threadId);
    if (known.has(dispatchId) || thread.isKnown(dispatchId)) continue;
    const before = queued.filter((each) => each.threadId === threadId);
    const isHeld = (key: string) => thread.holder(key) !== undefined || before.some((each) => each.dedupeKey === key);
    if (dedupeKey !== undefined && isHeld(dedupeKey)) continue;
    known.add(dispatchId);
    queued.push(queueBehind(before.at(-1) ?? thread.newest(), init, { epoch: thread.epoch(), now }));
  }
  return queued;
}

import type { ThreadId } from "@awaken/contract";
import {
  type ClaimedDispatch,
  type DispatchQueue,
  type DispatchRecord,
  expireDispatch,
  isDispatchOver,
  isLeaseOver,
  type QueuedDispatch,
  type ScopedDispatch,
  type ScopedThread,
  supersedeDispatch,
} from "@awaken/contract/store";
import { toConsumers } from "../plan/consumers.ts";
import { INTERRUPTED } from "../worker-moves.ts";
import { writeDispatch } from "./dispatch-rows.ts";
import type { Runner } from "./gate.ts";
import { countOf, idsOf } from "./ids.ts";
import { pickFirst } from "./pick.ts";
import { openDispatches } from "./reads.ts";
import { awakeIn } from "./records.ts";
import { share } from "./share.ts";
import type { Change, Tables, ThreadRow } from "./tables.ts";

interface Waiting {
  readonly tables: Tables;
  readonly threadId: ThreadId;
  /** When the first of the thread's queued dispatches may be claimed. */
  readonly availableAt: number;
}

interface Held {
  readonly tables: Tables;
  readonly claimed: ClaimedDispatch;
}

/** What nobody comes to by himself. */
function leftBehind(
  runner: Runner,
  tenants: () => Iterable<Tables>,
): Pick<DispatchQueue, "listStranded" | "listAwaitingTasks" | "listUnended"> {
  return {
    listStranded: ({ after, limit }) =>
      runner.read(() => {
        const isBehind = (thread: ScopedThread) => after === undefined || compareThreads(thread, after) > 0;
        const left = [...strandedThreads(tenants())].filter(isBehind);
        return pickFirst(left, compareThreads, limit).items;
      }),

    listAwaitingTasks: ({ after, limit }) =>
      runner.read(() => {
        const isBehind = (thread: ScopedThread) => after === undefined || compareThreads(thread, after) > 0;
        return pickFirst([...awaitingThreads(tenants())].filter(isBehind), compareThreads, limit).items;
      }),

    listUnended: (limit) =>
      runner.read(() =>
        pickFirst(unendedRows(tenants()), (a, b) => a.dispatch.createdAt - b.dispatch.createdAt, limit).items.map(
          ({ scopeId, dispatch }) => ({
            scopeId,
            dispatch: share(dispatch),
          }),
        ),
      ),
  };
}

/** The queues of all tenants. */
export function dispatchQueue(runner: Runner, tenants: () => Iterable<Tables>, clock: () => number): Omit<DispatchQueue, "hints"> {
  return {
    ...leftBehind(runner, tenants),
    listDue: (limit) =>
      runner.read(() => {
        const now = clock();
        const due = waitingThreads(tenants(), (at) => at <= now);
        return pickFirst(due, (a, b) => a.availableAt - b.availableAt, limit).items.map(({ tables, threadId }) => ({
          scopeId: tables.scopeId,
          threadId,
        }));
      }),

    nextDueInMs: () =>
      runner.read(() => {
        let next: number | undefined;
        for (const { availableAt } of waitingThreads(tenants(), () => true)) next = Math.min(next ?? availableAt, availableAt);
        return next === undefined ? undefined : Math.max(next - clock(), 0);
      }),

    reclaimExpired: (limit, gone = []) =>
      runner.write((journal) => {
        const now = clock();
        const isLost = (claimed: ClaimedDispatch) => isLeaseOver(claimed, now) || gone.includes(claimed.claimedBy);
        const expired = pickFirst(heldRows(tenants(), isLost), (a, b) => a.claimed.leaseUntil - b.claimed.leaseUntil, limit);
        return expired.items.flatMap((held) => reclaim({ tables: held.tables, journal, now }, held.claimed) ?? []);
      }),

    listConsumers: () =>
      runner.read(() =>
        toConsumers(
          [...heldRows(tenants(), () => true)].map(({ claimed }) => claimed),
          clock(),
        ),
      ),

    listOver: ({ updatedSince = 0, limit }) =>
      runner.read(() => {
        const over = overRows(tenants(), updatedSince);
        return pickFirst(over, (a, b) => a.dispatch.updatedAt - b.dispatch.updatedAt, limit).items.map(({ scopeId, dispatch }) => ({
          scopeId,
          dispatch: share(dispatch),
        }));
      }),
  };
}

/** Threads with queued work that nobody holds. */
function* waitingThreads(tenants: Iterable<Tables>, accepts: (availableAt: number) => boolean): Iterable<Waiting> {
  for (const tables of tenants) {
    for (const threadId of tables.busyThreads) {
      const row = tables.threads.get(threadId);
      if (row === undefined || row.claimed !== undefined) continue;
      const queued = [...openDispatches(tables, row)].filter((dispatch): dispatch is QueuedDispatch => dispatch.status === "queued");
      const availableAt = Math.min(...queued.map((dispatch) => dispatch.availableAt));
      if (queued.length > 0 && accepts(availableAt)) yield { tables, threadId, availableAt };
    }
  }
}

function* heldRows(tenants: Iterable<Tables>, accepts: (claimed: ClaimedDispatch) => boolean): Iterable<Held> {
  for (const tables of tenants) {
    for (const threadId of tables.busyThreads) {
      const claimed = tables.threads.get(threadId)?.claimed;
      if (claimed !== undefined && accepts(claimed)) yield { tables, claimed };
    }
  }
}

function reclaim(change: Change, claimed: ClaimedDispatch): ScopedDispatch | undefined {
  const { tables, now } = change;
  const epoch = tables.threads.get(claimed.threadId)?.epoch ?? 0;
  if (claimed.epoch < epoch) {
    writeDispatch(change, supersedeDispatch(claimed, INTERRUPTED, now));
    return undefined;
  }
  const dispatch: DispatchRecord = writeDispatch(change, expireDispatch(claimed, now));
  return { scopeId: tables.scopeId, dispatch: share(dispatch) };
}

function* overRows(tenants: Iterable<Tables>, since: number): Iterable<ScopedDispatch> {
  for (const { scopeId, dispatches } of tenants) {
    for (const dispatch of dispatches.values()) {
      if (isDispatchOver(dispatch) && dispatch.updatedAt >= since) yield { scopeId, dispatch };
    }
  }
}

const textOrder = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

const compareThreads = (a: ScopedThread, b: ScopedThread): number => textOrder(a.scopeId, b.scopeId) || textOrder(a.threadId, b.threadId);

function* strandedThreads(tenants: Iterable<Tables>): Iterable<ScopedThread> {
  for (const tables of tenants) {
    for (const [threadId, row] of tables.threads) {
      if (row.pending.length > 0 && !isAttended(tables, row)) yield { scopeId: tables.scopeId, threadId };
    }
  }
}

const isAttended = (tables: Tables, row: ThreadRow): boolean =>
  countOf(row.openIds) > 0 ||
  idsOf(row.runIds).some((runId) => {
    const status = tables.runs.get(runId)?.status;
    return status === "running" || status === "waiting";
  });

/** Of any run: the one that waits need not be the one that came last. */
function* awaitingThreads(tenants: Iterable<Tables>): Iterable<ScopedThread> {
  for (const { scopeId, threads, runs } of tenants) {
    const awaiting = new Set<ThreadId>();
    for (const run of awakeIn(runs)) if (run.status === "waiting" && run.waiting.reason === "awaiting-tasks") awaiting.add(run.threadId);
    for (const threadId of awaiting) if (countOf(threads.get(threadId)?.openIds) === 0) yield { scopeId, threadId };
  }
}

function* unendedRows(tenants: Iterable<Tables>): Iterable<ScopedDispatch> {
  for (const { scopeId, dispatches, runs } of tenants) {
    for (const dispatch of dispatches.values()) {
      const run = dispatch.status === "dead-letter" ? runs.get(dispatch.runId) : undefined;
      if (run !== undefined && run.status !== "done") yield { scopeId, dispatch };
    }
  }
}

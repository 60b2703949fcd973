import type { Retention, SweepResult } from "@awaken/contract/store";
import { EACH, EventBatch, type RowLog } from "./event-batch.ts";
import { countOf, idsOf } from "./ids.ts";
import { isIdle, purge } from "./log-reads.ts";
import type { Tables, Tenants, ThreadRow } from "./tables.ts";

/** Takes away what is past its time, of all tenants. */
export function sweepAll(tenants: Tenants, retention: Retention, now: number): SweepResult {
  const swept = sum(tenants.all().map((tables) => sweepTables(tables, retention, now)));
  tenants.sweep();
  return swept;
}

/** Nothing would be lost with it. */
const isVoid = ({ record, pending, epoch, openIds, overIds, events }: ThreadRow): boolean =>
  record === undefined &&
  epoch === 0 &&
  pending.length + countOf(openIds) + countOf(overIds) === 0 &&
  (events === undefined || isIdle(events));

function sum(results: readonly SweepResult[]): SweepResult {
  const total = (key: keyof SweepResult) => results.reduce((count, result) => count + result[key], 0);
  return {
    events: total("events"),
    dispatches: total("dispatches"),
    streamCheckpoints: total("streamCheckpoints"),
    ledger: total("ledger"),
    wishes: total("wishes"),
    outbound: total("outbound"),
  };
}

/** Takes away what is past its time in one tenant. Not part of any transaction, so nothing of it is ever taken back. */
function sweepTables(tables: Tables, retention: Retention, now: number): SweepResult {
  const swept = {
    events: retention.eventsMs === undefined ? 0 : sweepEvents(tables, now - retention.eventsMs),
    dispatches: retention.dispatchesMs === undefined ? 0 : sweepDispatches(tables, now - retention.dispatchesMs),
    streamCheckpoints: retention.streamCheckpointsMs === undefined ? 0 : sweepCheckpoints(tables, now - retention.streamCheckpointsMs),
    ledger: retention.ledgerMs === undefined ? 0 : sweepLedger(tables, now - retention.ledgerMs),
    outbound: retention.outboundMs === undefined ? 0 : sweepOutbound(tables, now - retention.outboundMs),
    wishes: retention.wishesMs === undefined ? 0 : sweepWishes(tables, now - retention.wishesMs),
  };
  for (const [id, row] of tables.threads) if (isVoid(row)) tables.threads.delete(id);
  return swept;
}

function countBefore(batch: EventBatch, time: number): number {
  let count = 0;
  while (count < batch.count && batch.timeAt(count) < time) count++;
  return count;
}

/** The same without the first of them. Whoever has the whole one keeps it. */
function withoutFirst(batch: EventBatch, count: number): EventBatch {
  const items = batch.items.slice(EACH * count);
  return new EventBatch({ ...batch, items, threadFirst: batch.threadFirst + count, runFirst: batch.runFirst + count });
}

function sweepEvents(tables: Tables, cutoff: number): number {
  const oldIn = (batch: EventBatch) => countBefore(batch, cutoff);
  // Both logs of an event go on with the same batch.
  const rests = new Map<EventBatch, EventBatch>();
  const rest = (batch: EventBatch) => {
    const made = rests.get(batch) ?? withoutFirst(batch, oldIn(batch));
    rests.set(batch, made);
    return made;
  };
  const purged = new Set<EventBatch>();
  const purgeLog = (log: RowLog) => {
    for (const batch of purge(log, oldIn, rest)) purged.add(batch);
  };
  for (const row of tables.threads.values()) {
    if (row.events !== undefined) purgeLog(row.events);
    if (row.events !== undefined && isIdle(row.events)) row.events = undefined;
  }
  for (const [id, log] of tables.runEvents) {
    purgeLog(log);
    if (isIdle(log)) tables.runEvents.delete(id);
  }
  let count = 0;
  for (const batch of purged) {
    count += oldIn(batch);
    if (batch.key !== undefined) tables.eventsByKey.delete(batch.key);
  }
  return count;
}

function sweepDispatches(tables: Tables, cutoff: number): number {
  let count = 0;
  for (const row of tables.threads.values()) {
    const over = idsOf(row.overIds);
    const kept = over.filter((id) => {
      const dispatch = tables.dispatches.get(id);
      if (dispatch !== undefined && dispatch.updatedAt >= cutoff) return true;
      tables.dispatches.delete(id);
      return false;
    });
    count += over.length - kept.length;
    if (kept.length < over.length) row.overIds = kept.length === 0 ? undefined : kept;
  }
  return count;
}

function sweepCheckpoints(tables: Tables, cutoff: number): number {
  let count = 0;
  for (const [runId, steps] of tables.streamCheckpoints) {
    for (const [step, checkpoint] of steps) {
      if (checkpoint.updatedAt >= cutoff) continue;
      steps.delete(step);
      count++;
    }
    if (steps.size === 0) tables.streamCheckpoints.delete(runId);
  }
  return count;
}

function sweepLedger(tables: Tables, cutoff: number): number {
  let count = 0;
  for (const [runId, keys] of tables.ledgerByRun) {
    if (tables.runs.get(runId)?.status !== "done") continue;
    const kept = keys.filter((key) => {
      const entry = tables.ledger.get(key);
      if (entry !== undefined && (entry.status === "claimed" ? entry.claimedAt : entry.settledAt) >= cutoff) return true;
      tables.ledger.delete(key);
      return false;
    });
    count += keys.length - kept.length;
    if (kept.length === 0) tables.ledgerByRun.delete(runId);
    else tables.ledgerByRun.set(runId, kept);
  }
  return count;
}

function sweepOutbound({ outbound }: Tables, cutoff: number): number {
  let count = 0;
  for (const [id, deliveredAt] of outbound) if (deliveredAt < cutoff && outbound.delete(id)) count++;
  return count;
}

function sweepWishes(tables: Tables, cutoff: number): number {
  let count = 0;
  for (const [runId, ids] of tables.wishesByRun) {
    if (tables.runs.get(runId)?.status !== "done") continue;
    const kept = ids.filter((id) => (tables.wishes.get(id)?.createdAt ?? 0) >= cutoff);
    for (const id of ids) if (!kept.includes(id)) tables.wishes.delete(id);
    count += ids.length - kept.length;
    if (kept.length === 0) tables.wishesByRun.delete(runId);
    else tables.wishesByRun.set(runId, kept);
  }
  return count;
}

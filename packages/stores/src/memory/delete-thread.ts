import { AwakenError, type RunId, type RunRecord, type ThreadId } from "@awaken/contract";
import type { ChildStrategy } from "@awaken/contract/store";
import type { EventBatch, RowLog } from "./event-batch.ts";
import { directChildren, familyOf } from "./family.ts";
import { idsOf } from "./ids.ts";
import { markDeleted, removeFrom } from "./log-reads.ts";
import { forgetIn, writeTickets } from "./runs.ts";
import type { Change, Tables } from "./tables.ts";

/** Takes the thread away with all that hangs on it. */
export function deleteThread(change: Change, id: ThreadId, strategy: ChildStrategy): void {
  const { tables } = change;
  if (tables.threads.get(id)?.record === undefined) throw new AwakenError("storage_not_found", `thread '${id}' does not exist`);
  const children = directChildren(tables, id);
  if (strategy === "reject" && children.length > 0) {
    throw new AwakenError("storage_validation", `thread '${id}' has ${children.length} child threads`, { details: { id } });
  }
  const doomed = new Set(strategy === "cascade" ? familyOf(tables, id) : [id]);
  for (const each of doomed) refuseRunning(tables, each);
  if (strategy === "detach") for (const child of children) detach(change, child);
  for (const each of doomed) deleteRows(change, each);
  deleteCheckpoints(change, doomed);
}

function refuseRunning(tables: Tables, id: ThreadId): void {
  for (const runId of idsOf(tables.threads.get(id)?.runIds)) {
    if (tables.runs.get(runId)?.status !== "running") continue;
    throw new AwakenError("thread_already_running", `run '${runId}' of thread '${id}' is running`, { details: { threadId: id, runId } });
  }
}

function detach({ tables, journal }: Change, id: ThreadId): void {
  const row = tables.threads.get(id);
  const record = row?.record;
  if (row === undefined || record === undefined) return;
  const { parentThreadId: _, ...root } = record;
  journal.assign(row, "record", root);
}

function deleteRows(change: Change, id: ThreadId): void {
  const { tables, journal } = change;
  const row = tables.threads.get(id);
  if (row === undefined) return;
  const log = row.events;
  const runs = new Set(idsOf(row.runIds));
  const others = new Set<RunId>();
  for (const { runId } of log?.batches ?? []) {
    if (runId === undefined || runs.has(runId)) continue;
    // Events may name a run that has no record yet.
    if (tables.runs.has(runId)) others.add(runId);
    else runs.add(runId);
  }
  for (const runId of runs) deleteRun(change, runId);
  for (const runId of runs) cutLog(change, runId, ({ thread }) => thread === undefined || thread === log);
  for (const runId of others) cutLog(change, runId, ({ thread }) => thread === log);
  for (const dispatchId of [...idsOf(row.openIds), ...idsOf(row.overIds)]) journal.delete(tables.dispatches, dispatchId);
  journal.remove(tables.busyThreads, id);
  if (log !== undefined) dropLog(change, log);
  journal.delete(tables.threads, id);
}

function deleteRun(change: Change, id: RunId): void {
  const { tables, journal } = change;
  const run = tables.runs.get(id);
  if (run !== undefined) {
    writeTickets(change, run, undefined);
    forgetFamily(change, run);
  }
  for (const key of tables.ledgerByRun.get(id) ?? []) journal.delete(tables.ledger, key);
  journal.delete(tables.ledgerByRun, id);
  for (const wishId of tables.wishesByRun.get(id) ?? []) journal.delete(tables.wishes, wishId);
  journal.delete(tables.wishesByRun, id);
  journal.delete(tables.streamCheckpoints, id);
  journal.delete(tables.runs, id);
}

/** What other threads have of the log of a run stays in it. */
function cutLog(change: Change, id: RunId, isGone: (batch: EventBatch) => boolean): void {
  const { tables, journal } = change;
  const log = tables.runEvents.get(id);
  if (log === undefined) return;
  const gone = log.batches.filter(isGone);
  if (gone.length === log.batches.length) {
    dropLog(change, log);
    journal.delete(tables.runEvents, id);
  } else if (gone.length > 0) {
    for (const { key } of gone) if (key !== undefined) journal.delete(tables.eventsByKey, key);
    removeFrom(log, isGone, journal);
  }
}

function dropLog({ tables, journal }: Change, log: RowLog): void {
  for (const { key } of log.batches) if (key !== undefined) journal.delete(tables.eventsByKey, key);
  journal.after(() => markDeleted(log));
}

/** A checkpoint may stand for a run that has no record. */
function deleteCheckpoints({ tables, journal }: Change, threads: ReadonlySet<ThreadId>): void {
  for (const steps of tables.streamCheckpoints.values()) {
    for (const [step, checkpoint] of steps) if (threads.has(checkpoint.threadId)) journal.delete(steps, step);
  }
}

/** A run that goes is nobody's child any more. */
function forgetFamily({ tables, journal }: Change, { runId, parentRunId, rootRunId }: RunRecord): void {
  forgetIn(journal, tables.runsByParent, parentRunId, runId);
  forgetIn(journal, tables.runsByRoot, rootRunId, runId);
}

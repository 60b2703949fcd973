import { AwakenError, runId, type ScopeId, type ThreadId } from "@awaken/contract";
import type { ChildStrategy } from "@awaken/contract/store";
import { textOf } from "../sql/rows.ts";
import { readThread, readThreadIds } from "../sql/thread-row.ts";
import type { Access } from "./access.ts";
import type { Finish, Tx } from "./attempt.ts";
import { lockBlobs, lockLineage, lockThread, lockThreads } from "./locks.ts";
import { type Statement, sql } from "./statement.ts";

export interface Deletion {
  readonly id: ThreadId;
  readonly children: ChildStrategy;
}

/** The thread and all below it, the deepest first. */
const selectFamily = (scopeId: ScopeId, id: ThreadId): Statement =>
  sql(
    `WITH RECURSIVE down (thread_id, depth) AS (
       SELECT thread_id, 0 FROM ~thread WHERE scope_id = $1 AND thread_id = $2 UNION
       SELECT t.thread_id, down.depth + 1 FROM down JOIN ~thread t ON t.scope_id = $1 AND t.parent_thread_id = down.thread_id
       WHERE down.depth < 10000
     ) SELECT thread_id FROM down ORDER BY depth DESC, thread_id`,
    ...[scopeId, id],
  );

const CHILDREN = "SELECT thread_id, record FROM ~thread WHERE scope_id = $1 AND parent_thread_id = $2 ORDER BY thread_id";

/** Runs of the threads, and runs that only their events name. */
const OWN_RUNS = `
  SELECT run_id FROM ~run WHERE scope_id = $1 AND thread_id = ANY ($2::text[]) UNION
  SELECT e.run_id FROM ~event e WHERE e.scope_id = $1 AND e.thread_id = ANY ($2::text[]) AND e.run_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM ~run r WHERE r.scope_id = $1 AND r.run_id = e.run_id)`;

const OF_RUNS: readonly string[] = [
  "DELETE FROM ~swept_log WHERE scope_id = $1 AND type = 'run' AND id = ANY ($2::text[])",
  "DELETE FROM ~event_key WHERE scope_id = $1 AND thread_id IS NULL AND run_id = ANY ($2::text[])",
  "DELETE FROM ~event WHERE scope_id = $1 AND thread_id IS NULL AND run_id = ANY ($2::text[])",
  "DELETE FROM ~ledger WHERE scope_id = $1 AND run_id = ANY ($2::text[])",
  "DELETE FROM ~run_ticket WHERE scope_id = $1 AND run_id = ANY ($2::text[])",
];

const OF_THREADS: readonly string[] = [
  "DELETE FROM ~swept_log WHERE scope_id = $1 AND type = 'thread' AND id = ANY ($2::text[])",
  ...["event_key", "event", "run", "message", "pending", "wish", "dispatch", "stream_checkpoint", "thread_epoch", "thread"].map(
    (table) => `DELETE FROM ~${table} WHERE scope_id = $1 AND thread_id = ANY ($2::text[])`,
  ),
  `DELETE FROM ~blob b WHERE b.scope_id = $1
     AND b.hash IN (SELECT hash FROM ~blob_use WHERE scope_id = $1 AND thread_id = ANY ($2::text[]))
     AND NOT EXISTS (SELECT 1 FROM ~blob_use u WHERE u.scope_id = $1 AND u.hash = b.hash AND u.thread_id <> ALL ($2::text[]))`,
  "DELETE FROM ~blob_use WHERE scope_id = $1 AND thread_id = ANY ($2::text[])",
];

/** Takes the thread away with all that hangs on it. */
export async function deleteThreads(tx: Tx, { scopeId, wire, known }: Access, { id, children }: Deletion): Promise<Finish<void>> {
  const [, , family = [], direct = []] = await tx.read(
    lockThread(scopeId, id),
    lockLineage(scopeId),
    selectFamily(scopeId, id),
    sql(CHILDREN, scopeId, id),
  );
  if (family.length === 0) throw new AwakenError("storage_not_found", `thread '${id}' does not exist`, { details: { id } });
  if (children === "reject" && direct.length > 0) {
    throw new AwakenError("storage_validation", `thread '${id}' has ${direct.length} child threads`, { details: { id } });
  }
  const doomed = children === "cascade" ? readThreadIds(family) : [id];
  const touched = [...new Set([...doomed, ...(children === "detach" ? readThreadIds(direct) : [])])].sort();
  const [, , running = [], runRows = [], orphans = []] = await tx.read(
    lockThreads(scopeId, touched),
    lockBlobs(scopeId),
    sql("SELECT run_id, thread_id FROM ~run WHERE scope_id = $1 AND thread_id = ANY ($2::text[]) AND status = 'running'", scopeId, doomed),
    sql(OWN_RUNS, scopeId, doomed),
    // Read again: a child may have been written until its lock was ours.
    sql(CHILDREN, scopeId, id),
  );
  const [active] = running;
  if (active !== undefined) {
    const details = { threadId: textOf(active, "thread_id"), runId: textOf(active, "run_id") };
    throw new AwakenError("thread_already_running", `run '${details.runId}' of thread '${details.threadId}' is running`, { details });
  }
  const runs = runRows.map((row) => runId(textOf(row, "run_id")));
  const detach = orphans.map(readThread).map(({ parentThreadId: _, ...root }) => {
    const text = "UPDATE ~thread SET parent_thread_id = NULL, record = $3 WHERE scope_id = $1 AND thread_id = $2";
    return sql(text, scopeId, root.id, JSON.stringify(root));
  });
  return {
    writes: [
      ...(children === "detach" ? detach : []),
      ...OF_RUNS.map((text) => sql(text, scopeId, runs)),
      ...OF_THREADS.map((text) => sql(text, scopeId, doomed)),
    ],
    result: undefined,
    tell: () => {
      for (const threadId of doomed) {
        known?.forget(scopeId, threadId);
        wire.ring(scopeId, { type: "thread", id: threadId });
      }
      for (const run of runs) wire.ring(scopeId, { type: "run", id: run });
    },
  };
}

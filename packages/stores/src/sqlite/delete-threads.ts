import { AwakenError, type ScopeId, type ThreadId } from "@awaken/contract";
import type { ChildStrategy } from "@awaken/contract/store";
import { bellKey } from "../sql/event-log.ts";
import type { Bells } from "../sql/listeners.ts";
import { textOf } from "../sql/rows.ts";
import { readThread, readThreadIds } from "../sql/thread-row.ts";
import type { Connection, Tx } from "./database.ts";
import { DELETE_MESSAGES } from "./messages.ts";

export interface Deletion {
  readonly id: ThreadId;
  readonly children: ChildStrategy;
  readonly bells: Bells;
}

/** Takes the thread away with all that hangs on it. */
export function deleteThreads(tx: Tx, scopeId: ScopeId, { id, children, bells }: Deletion): void {
  const direct = tx.all("SELECT thread_id, record FROM thread WHERE scope_id = ? AND parent_thread_id = ?", scopeId, id).map(readThread);
  if (children === "reject" && direct.length > 0) {
    throw new AwakenError("storage_validation", `thread '${id}' has ${direct.length} child threads`, { details: { id } });
  }
  const doomed = children === "cascade" ? loadFamily(tx, scopeId, id) : [id];
  for (const each of doomed) refuseRunning(tx, scopeId, each);
  if (children === "detach") {
    for (const { parentThreadId: _, ...root } of direct) {
      const sql = "UPDATE thread SET parent_thread_id = NULL, record = ? WHERE scope_id = ? AND thread_id = ?";
      tx.run(sql, JSON.stringify(root), scopeId, root.id);
    }
  }
  for (const each of doomed) deleteRows(tx, scopeId, each, bells);
}

/** The thread and all below it, the deepest first. */
function loadFamily(db: Connection, scopeId: ScopeId, id: ThreadId): readonly ThreadId[] {
  return readThreadIds(
    db.all(
      `WITH RECURSIVE down (thread_id, depth) AS (
         SELECT ?2, 0 UNION
         SELECT t.thread_id, down.depth + 1 FROM down CROSS JOIN thread t ON t.scope_id = ?1 AND t.parent_thread_id = down.thread_id
         WHERE down.depth < 10000
       ) SELECT thread_id FROM down ORDER BY depth DESC, thread_id`,
      ...[scopeId, id],
    ),
  );
}

function refuseRunning(db: Connection, scopeId: ScopeId, id: ThreadId): void {
  const row = db.get("SELECT run_id FROM run WHERE scope_id = ? AND thread_id = ? AND status = 'running' LIMIT 1", scopeId, id);
  if (row === undefined) return;
  const runId = textOf(row, "run_id");
  throw new AwakenError("thread_already_running", `run '${runId}' of thread '${id}' is running`, { details: { threadId: id, runId } });
}

/** Runs of the thread, and runs that only its events name. */
const OWN_RUNS = `(
  SELECT run_id FROM run WHERE scope_id = ?1 AND thread_id = ?2 UNION
  SELECT e.run_id FROM event e WHERE e.scope_id = ?1 AND e.thread_id = ?2 AND e.run_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM run r WHERE r.scope_id = ?1 AND r.run_id = e.run_id))`;

const DELETIONS: readonly string[] = [
  `DELETE FROM swept_log WHERE scope_id = ?1 AND ((type = 'thread' AND id = ?2) OR (type = 'run' AND id IN ${OWN_RUNS}))`,
  `DELETE FROM event_key WHERE scope_id = ?1 AND thread_id IS NULL AND run_id IN ${OWN_RUNS}`,
  `DELETE FROM event WHERE scope_id = ?1 AND thread_id IS NULL AND begins = 1 AND run_id IN ${OWN_RUNS}`,
  `DELETE FROM ledger WHERE scope_id = ?1 AND run_id IN ${OWN_RUNS}`,
  `DELETE FROM run_ticket WHERE scope_id = ?1 AND run_id IN ${OWN_RUNS}`,
  "DELETE FROM event WHERE scope_id = ?1 AND thread_id = ?2",
  "DELETE FROM run WHERE scope_id = ?1 AND thread_id = ?2",
  DELETE_MESSAGES,
  "DELETE FROM pending WHERE scope_id = ?1 AND thread_id = ?2",
  "DELETE FROM wish WHERE scope_id = ?1 AND thread_id = ?2",
  "DELETE FROM dispatch WHERE scope_id = ?1 AND thread_id = ?2",
  "DELETE FROM stream_checkpoint WHERE scope_id = ?1 AND thread_id = ?2",
  "DELETE FROM event_key WHERE scope_id = ?1 AND thread_id = ?2",
  "DELETE FROM thread_epoch WHERE scope_id = ?1 AND thread_id = ?2",
  "DELETE FROM thread WHERE scope_id = ?1 AND thread_id = ?2",
  `DELETE FROM blob WHERE scope_id = ?1
     AND hash IN (SELECT hash FROM blob_use WHERE scope_id = ?1 AND thread_id = ?2)
     AND NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.scope_id = ?1 AND u.hash = blob.hash AND u.thread_id <> ?2)`,
  "DELETE FROM blob_use WHERE scope_id = ?1 AND thread_id = ?2",
];

function deleteRows(tx: Tx, scopeId: ScopeId, id: ThreadId, bells: Bells): void {
  const runs = tx.all(`SELECT run_id FROM ${OWN_RUNS}`, scopeId, id).map((row) => textOf(row, "run_id"));
  for (const deletion of DELETIONS) tx.run(deletion, scopeId, id);
  tx.afterCommit(() => {
    bells.ring(bellKey(scopeId, { type: "thread", id }));
    for (const run of runs) bells.ring(bellKey(scopeId, { type: "run", id: run }));
  });
}

import type { Retention, SweepResult } from "@awaken/contract";
import { numberOf } from "../sql/rows.ts";
import type { Connection } from "./database.ts";
import type { Session } from "./session.ts";

/** Rows that one transaction deletes, so that nobody waits for long. */
const BATCH = 500;

/** Deletes a batch and gives the number of rows. */
type Step = (tx: Connection, cutoff: number) => number;

async function repeat(session: Session, step: Step, keptMs: number | undefined, now: number): Promise<number> {
  if (keptMs === undefined) return 0;
  let total = 0;
  for (;;) {
    const count = await session.write((tx) => step(tx, now - keptMs));
    total += count;
    if (count < BATCH) return total;
  }
}

const deleteOld =
  (table: string, condition: string): Step =>
  (tx, cutoff) =>
    tx.run(`DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} t WHERE ${condition} LIMIT ${BATCH})`, cutoff);

/** Rows stand in the order of their writing, so the old ones are the first; what a clock that went back puts behind others stays longer. */
const deleteEvents: Step = (tx, cutoff) => {
  const newest = tx.get(`SELECT max(rowid) AS row FROM (SELECT rowid FROM event ORDER BY rowid LIMIT ${BATCH})`);
  if (newest?.["row"] == null) return 0;
  return tx.run("DELETE FROM event WHERE rowid <= ? AND created_at < ?", numberOf(newest, "row"), cutoff);
};

const deleteDispatches = deleteOld("dispatch", "t.status NOT IN ('queued', 'claimed') AND t.updated_at < ?");
const deleteCheckpoints = deleteOld("stream_checkpoint", "t.updated_at < ?");
const deleteLedger = deleteOld(
  "ledger",
  "t.updated_at < ? AND EXISTS (SELECT 1 FROM run r WHERE r.scope_id = t.scope_id AND r.run_id = t.run_id AND r.status = 'done')",
);

export async function sweepTables(session: Session, retention: Retention, now: number): Promise<SweepResult> {
  return {
    events: await repeat(session, deleteEvents, retention.eventsMs, now),
    dispatches: await repeat(session, deleteDispatches, retention.dispatchesMs, now),
    streamCheckpoints: await repeat(session, deleteCheckpoints, retention.streamCheckpointsMs, now),
    ledger: await repeat(session, deleteLedger, retention.ledgerMs, now),
  };
}

import type { Retention, SweepResult } from "@awaken/contract/store";
import { LOG_COLUMNS } from "../sql/event-rows.ts";
import { numberOf, type Row, textIn, textOf } from "../sql/rows.ts";
import type { Tx } from "./database.ts";
import type { Session } from "./session.ts";

/** Rows that one transaction deletes, so that nobody waits for long. */
const BATCH = 500;

/** Deletes a batch of rows. `count` is what they stand for. */
type Step = (tx: Tx, cutoff: number) => { readonly rows: number; readonly count: number };

async function repeat(session: Session, step: Step, keptMs: number | undefined, now: number): Promise<number> {
  if (keptMs === undefined) return 0;
  let total = 0;
  for (;;) {
    const { rows, count } = await session.write((tx) => step(tx, now - keptMs));
    total += count;
    if (rows < BATCH) return total;
  }
}

const deleteOld =
  (table: string, condition: string): Step =>
  (tx, cutoff) => {
    const sql = `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} t WHERE ${condition} LIMIT ${BATCH})`;
    const rows = tx.run(sql, cutoff);
    return { rows, count: rows };
  };

/**
 * Rows stand in the order of their writing, so the old ones are the first; what a clock that went back has put behind others stays a
 * little longer. The numbers of a log go on where they were, also when all of its events are gone.
 */
const deleteEvents: Step = (tx, cutoff) => {
  const columns = "rowid, scope_id, thread_id, thread_seq, run_id, run_seq, count, created_at";
  const first = tx.all(`SELECT ${columns} FROM event ORDER BY rowid LIMIT ${BATCH}`);
  const old = first.filter((row) => numberOf(row, "created_at") < cutoff);
  let count = 0;
  const lastOf = new Map<string, Row>();
  for (const row of old) {
    count += numberOf(row, "count");
    for (const type of LOG_TYPES) keepNumber(tx, row, type);
    tx.run("DELETE FROM event WHERE rowid = ?", numberOf(row, "rowid"));
    lastOf.set(JSON.stringify([row["scope_id"], row["thread_id"]]), row);
  }
  for (const last of lastOf.values()) beginAfter(tx, last);
  return { rows: old.length, count };
};

/** Where the log of a thread begins now, a stretch of a run does. */
function beginAfter(tx: Tx, row: Row): void {
  const threadId = textIn(row, "thread_id");
  if (threadId === undefined) return;
  const next = numberOf(row, "thread_seq") + numberOf(row, "count");
  tx.run(
    "UPDATE event SET begins = 1 WHERE scope_id = ? AND thread_id = ? AND thread_seq = ? AND begins IS NULL",
    ...[textOf(row, "scope_id"), threadId, next],
  );
}

const LOG_TYPES = ["thread", "run"] as const;

function keepNumber(tx: Tx, row: Row, type: (typeof LOG_TYPES)[number]): void {
  const { id, seq } = LOG_COLUMNS[type];
  const log = textIn(row, id);
  if (log === undefined) return;
  tx.run(
    `INSERT INTO swept_log (scope_id, type, id, last_seq, last_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (scope_id, type, id) DO UPDATE SET
       last_seq = max(last_seq, excluded.last_seq), last_at = max(last_at, excluded.last_at)`,
    ...[textOf(row, "scope_id"), type, log, numberOf(row, seq) + numberOf(row, "count") - 1, numberOf(row, "created_at")],
  );
}

/** In the order of their writing too. */
const deleteKeys: Step = (tx, cutoff) => {
  const sql = `DELETE FROM event_key WHERE created_at < ? AND rowid IN (SELECT rowid FROM event_key ORDER BY rowid LIMIT ${BATCH})`;
  return { rows: tx.run(sql, cutoff), count: 0 };
};

const deleteDispatches = deleteOld("dispatch", "t.status NOT IN ('queued', 'claimed') AND t.updated_at < ?");
const deleteCheckpoints = deleteOld("stream_checkpoint", "t.updated_at < ?");
const deleteLedger = deleteOld(
  "ledger",
  "t.updated_at < ? AND EXISTS (SELECT 1 FROM run r WHERE r.scope_id = t.scope_id AND r.run_id = t.run_id AND r.status = 'done')",
);

const deleteWishes = deleteOld(
  "wish",
  "t.created_at < ? AND EXISTS (SELECT 1 FROM run r WHERE r.scope_id = t.scope_id AND r.run_id = t.run_id AND r.status = 'done')",
);

/** In the order of their writing too. */
const deleteOutbound: Step = (tx, cutoff) => {
  const sql = `DELETE FROM outbound WHERE created_at < ? AND rowid IN (SELECT rowid FROM outbound ORDER BY rowid LIMIT ${BATCH})`;
  const rows = tx.run(sql, cutoff);
  return { rows, count: rows };
};

export async function sweepTables(session: Session, retention: Retention, now: number): Promise<SweepResult> {
  // Also when nothing is to be swept: a closed store says so.
  await repeat(session, deleteKeys, retention.eventsMs ?? Number.POSITIVE_INFINITY, now);
  return {
    events: await repeat(session, deleteEvents, retention.eventsMs, now),
    dispatches: await repeat(session, deleteDispatches, retention.dispatchesMs, now),
    streamCheckpoints: await repeat(session, deleteCheckpoints, retention.streamCheckpointsMs, now),
    ledger: await repeat(session, deleteLedger, retention.ledgerMs, now),
    outbound: await repeat(session, deleteOutbound, retention.outboundMs, now),
    wishes: await repeat(session, deleteWishes, retention.wishesMs, now),
  };
}

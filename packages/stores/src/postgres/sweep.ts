import type { Retention, SweepResult } from "@awaken/contract/store";
import { numberOf } from "../sql/rows.ts";
import type { Session } from "./session.ts";
import { sql } from "./statement.ts";

/** Rows that one transaction deletes, so that nobody waits for long. */
const BATCH = 500;

interface Old {
  readonly table: string;
  /** `$1` is the time before which a row is old. */
  readonly condition: string;
  /** How many things a row stands for. */
  readonly count?: string;
  /** What is written besides, from the rows in `gone`. */
  readonly also?: string;
}

async function deleteOld(session: Session, { table, condition, count = "1", also = "" }: Old, cutoff: number): Promise<number> {
  const text = `WITH gone AS (
      DELETE FROM ~${table} WHERE ctid = ANY (ARRAY (SELECT t.ctid FROM ~${table} t WHERE ${condition} LIMIT ${BATCH})) RETURNING *
    )${also} SELECT count(*) AS rows, coalesce(sum(${count}), 0) AS n FROM gone`;
  let total = 0;
  for (;;) {
    const { rows, n } = await session.write(async (tx) => {
      const [[row = {}] = []] = await tx.read(sql(text, cutoff));
      return { writes: [], result: { rows: numberOf(row, "rows"), n: numberOf(row, "n") } };
    });
    total += n;
    if (rows < BATCH) return total;
  }
}

/** The numbers of a log go on where they were, also when all of its events are gone. */
const KEEP_NUMBERS = `, kept AS (
    INSERT INTO ~swept_log (scope_id, type, id, last_seq, last_at)
    SELECT scope_id, 'thread', thread_id, max(thread_seq + count - 1), max(created_at) FROM gone WHERE thread_id IS NOT NULL
    GROUP BY scope_id, thread_id
    UNION ALL SELECT scope_id, 'run', run_id, max(run_seq + count - 1), max(created_at) FROM gone WHERE run_id IS NOT NULL
    GROUP BY scope_id, run_id
    ON CONFLICT (scope_id, type, id) DO UPDATE SET
      last_seq = greatest(swept_log.last_seq, excluded.last_seq), last_at = greatest(swept_log.last_at, excluded.last_at)
  )`;

const KEYS = { table: "event_key", condition: "t.created_at < $1" };
const EVENTS = { table: "event", condition: "t.created_at < $1", count: "count", also: KEEP_NUMBERS };
const DISPATCHES = { table: "dispatch", condition: "t.status NOT IN ('queued', 'claimed') AND t.updated_at < $1" };
const CHECKPOINTS = { table: "stream_checkpoint", condition: "t.updated_at < $1" };
const OF_DONE = "EXISTS (SELECT 1 FROM ~run r WHERE r.scope_id = t.scope_id AND r.run_id = t.run_id AND r.status = 'done')";
const LEDGER = { table: "ledger", condition: `t.updated_at < $1 AND ${OF_DONE}` };
const OUTBOUND = { table: "outbound", condition: "t.created_at < $1" };
const WISHES = { table: "wish", condition: `t.created_at < $1 AND ${OF_DONE}` };

export async function sweepTables(session: Session, retention: Retention, now: number): Promise<SweepResult> {
  const sweep = (old: Old, keptMs: number | undefined) => (keptMs === undefined ? 0 : deleteOld(session, old, now - keptMs));
  // Also when nothing is to be swept: a closed store says so.
  await sweep(KEYS, retention.eventsMs ?? Number.POSITIVE_INFINITY);
  return {
    events: await sweep(EVENTS, retention.eventsMs),
    dispatches: await sweep(DISPATCHES, retention.dispatchesMs),
    streamCheckpoints: await sweep(CHECKPOINTS, retention.streamCheckpointsMs),
    ledger: await sweep(LEDGER, retention.ledgerMs),
    outbound: await sweep(OUTBOUND, retention.outboundMs),
    wishes: await sweep(WISHES, retention.wishesMs),
  };
}

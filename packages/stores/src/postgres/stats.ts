import type { QueueStoreStats } from "@awaken/contract/store";
import { numberOf } from "../sql/rows.ts";
import { countDispatches, countRuns } from "../sql/run-row.ts";
import type { Session } from "./session.ts";
import { sql } from "./statement.ts";

const TABLES = ["thread", "pending", "stream_checkpoint", "ledger", "wish", "profile", "config"] as const;

export async function loadStats(session: Session, schema: string): Promise<QueueStoreStats> {
  const counts = TABLES.map((table) => `(SELECT count(*) FROM ~${table}) AS ${table}`);
  const text = `SELECT ${counts.join(", ")}, (SELECT coalesce(sum(message_count), 0) FROM ~thread) AS message,
    (SELECT coalesce(sum(count), 0) FROM ~event) AS event,
    (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r') AS bytes`;
  const [row = {}] = await session.read(sql(text, schema));
  return {
    threads: numberOf(row, "thread"),
    messages: numberOf(row, "message"),
    runs: countRuns(await session.read(sql("SELECT status, count(*) AS n FROM ~run GROUP BY status"))),
    pending: numberOf(row, "pending"),
    events: numberOf(row, "event"),
    dispatches: countDispatches(await session.read(sql("SELECT status, count(*) AS n FROM ~dispatch GROUP BY status"))),
    streamCheckpoints: numberOf(row, "stream_checkpoint"),
    ledger: numberOf(row, "ledger"),
    wishes: numberOf(row, "wish"),
    profiles: numberOf(row, "profile"),
    config: numberOf(row, "config"),
    bytes: numberOf(row, "bytes"),
  };
}

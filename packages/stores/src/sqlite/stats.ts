import type { QueueStoreStats } from "@awaken/contract/store";
import { numberOf } from "../sql/rows.ts";
import { countDispatches, countRuns } from "../sql/run-row.ts";
import type { Connection } from "./database.ts";

const numberIn = (db: Connection, sql: string): number => numberOf(db.get(sql) ?? {}, "n");

export function loadStats(db: Connection): QueueStoreStats {
  const rows = (table: string) => numberIn(db, `SELECT count(*) AS n FROM ${table}`);
  return {
    threads: rows("thread"),
    messages: numberIn(db, "SELECT coalesce(sum(message_count), 0) AS n FROM thread"),
    runs: countRuns(db.all("SELECT status, count(*) AS n FROM run GROUP BY status")),
    pending: rows("pending"),
    events: numberIn(db, "SELECT coalesce(sum(count), 0) AS n FROM event"),
    dispatches: countDispatches(db.all("SELECT status, count(*) AS n FROM dispatch GROUP BY status")),
    streamCheckpoints: rows("stream_checkpoint"),
    ledger: rows("ledger"),
    wishes: rows("wish"),
    profiles: rows("profile"),
    config: rows("config"),
    bytes: numberIn(db, "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size"),
  };
}

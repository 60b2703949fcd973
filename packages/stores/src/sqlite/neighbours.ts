import type { Bells } from "../sql/listeners.ts";
import { numberOf } from "../sql/rows.ts";
import type { Database } from "./database.ts";

const INTERVAL_MS = 200;

/**
 * Rings every bell after another process has written to the file, so that followers of event logs read on. SQLite tells nobody, but
 * counts such writes in memory; while nobody follows anything, this does not even look.
 */
export function watchNeighbours(db: Database, bells: Bells): () => void {
  const version = () => numberOf(db.get("PRAGMA data_version") ?? {}, "data_version");
  let seen: number | undefined;
  const timer = setInterval(() => {
    if (bells.size === 0) {
      seen = undefined;
      return;
    }
    const now = version();
    if (seen !== undefined && seen !== now) bells.ringAll();
    seen = now;
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

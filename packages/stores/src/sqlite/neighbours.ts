import type { Bells } from "../sql/listeners.ts";
import { numberOf } from "../sql/rows.ts";
import type { Database } from "./database.ts";
import { isBusy } from "./errors.ts";

const INTERVAL_MS = 200;

/**
 * Rings every bell after another process has written to the file, so that followers of event logs read on: SQLite tells nobody, but it
 * counts such writes. It looks also while nobody follows, so that the first follower misses nothing.
 */
export function watchNeighbours(db: Database, bells: Bells): () => void {
  const version = () => numberOf(db.get("PRAGMA data_version") ?? {}, "data_version");
  let seen = version();
  const look = () => {
    const now = version();
    if (now !== seen) bells.ringAll();
    seen = now;
  };
  const timer = setInterval(() => {
    try {
      look();
    } catch (thrown) {
      // Whoever has locked the file will be done by one of the next looks.
      if (!isBusy(thrown)) bells.ringAll();
    }
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

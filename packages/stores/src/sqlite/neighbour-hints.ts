import { runId, scopeId, threadId } from "@awaken/contract";
import type { ScopedHint } from "@awaken/contract/store";
import { numberOf, type Row, textOf } from "../sql/rows.ts";
import { readWish, WISH_ROW } from "../sql/wish-rows.ts";
import type { Database } from "./database.ts";

const MAX_THREADS = 100;

/** Threads with work that nobody holds: whoever enqueued it did so in another process. */
const QUEUED = `SELECT q.scope_id, q.thread_id FROM dispatch q WHERE q.status = 'queued' AND NOT EXISTS (
    SELECT 1 FROM dispatch c WHERE c.scope_id = q.scope_id AND c.thread_id = q.thread_id AND c.status = 'claimed')
  GROUP BY q.scope_id, q.thread_id ORDER BY min(q.available_at) LIMIT ${MAX_THREADS}`;

const placeOf = (row: Row) => ({ scopeId: scopeId(textOf(row, "scope_id")), threadId: threadId(textOf(row, "thread_id")) });

/** What other processes want of runs and workers, as hints: SQLite carries none from process to process. */
export class NeighbourHints {
  readonly #db: Database;
  #lastWish: number;

  constructor(db: Database) {
    this.#db = db;
    this.#lastWish = this.#newestWish();
  }

  read(): readonly ScopedHint[] {
    return [...this.#queued(), ...this.#wishes(), ...this.#steers()];
  }

  #newestWish(): number {
    return numberOf(this.#db.get("SELECT coalesce(max(rowid), 0) AS newest FROM wish") ?? {}, "newest");
  }

  #queued(): readonly ScopedHint[] {
    return this.#db.all(QUEUED).map((row) => ({ type: "enqueued", ...placeOf(row) }));
  }

  #wishes(): readonly ScopedHint[] {
    const sql = `SELECT rowid AS place, scope_id, thread_id, ${WISH_ROW} FROM wish WHERE taken_at IS NULL AND rowid > ? ORDER BY rowid`;
    // Numbers come again when the newest rows were swept.
    this.#lastWish = Math.min(this.#lastWish, this.#newestWish());
    return this.#db.all(sql, this.#lastWish).map((row) => {
      this.#lastWish = numberOf(row, "place");
      const { type, runId } = readWish(row);
      return { type: type === "cancel" ? "cancel" : "wake", ...placeOf(row), runId };
    });
  }

  #steers(): readonly ScopedHint[] {
    const sql = `SELECT scope_id, thread_id, record ->> '$.deliveryMode.targetRunId' AS target FROM pending
      WHERE record ->> '$.deliveryMode.targetRunId' IS NOT NULL LIMIT ${MAX_THREADS}`;
    return this.#db.all(sql).map((row) => ({ type: "wake", ...placeOf(row), runId: runId(textOf(row, "target")) }));
  }
}

import { AwakenError, type EventCursor, eventCursor, type StoredEvent } from "@awaken/contract";
import type { Journal } from "./journal.ts";

/** One event; it stands in the log of its thread and in that of its run. */
export interface EventRow {
  readonly event: StoredEvent;
  /** Under which a repeated append finds it. */
  readonly idempotencyKey?: string;
}

/** The events of one thread or run in their order. Cursors hold the tag of the log, so that they fit no other one. */
export class EventLog {
  readonly type: "thread" | "run";
  readonly #tag: string;
  readonly #rows: EventRow[] = [];
  readonly #wakes = new Set<() => void>();
  /** The position of the oldest row that is kept; positions start at 1 and are never used again. */
  #first = 1;
  #isDeleted = false;
  #readers = 0;

  constructor(type: "thread" | "run", tag: string) {
    this.type = type;
    this.#tag = tag;
  }

  get rows(): readonly EventRow[] {
    return this.#rows;
  }

  get head(): EventCursor | undefined {
    return this.#rows.at(-1)?.event.cursors[this.type];
  }

  /** The position of the newest row. */
  get last(): number {
    return this.#first + this.#rows.length - 1;
  }

  get first(): number {
    return this.#first;
  }

  /** Nothing would be lost with it. */
  get isIdle(): boolean {
    return this.#rows.length === 0 && this.#readers === 0;
  }

  nextCursor(): EventCursor {
    return eventCursor(`${this.#tag}-${this.last + 1}`);
  }

  append(row: EventRow, journal: Journal): void {
    journal.push(this.#rows, row);
    if (this.#wakes.size > 0) journal.after(() => this.wake());
  }

  /** Where the cursor stands; `cursor_expired` unless its event is kept here. */
  positionOf(cursor: EventCursor): number {
    const position = Number(cursor.slice(this.#tag.length + 1));
    const row = this.#rows[position - this.#first];
    if (row?.event.cursors[this.type] === cursor) return position;
    throw expired(`event cursor '${cursor}' is unknown or expired`);
  }

  /** Up to `limit` rows after a position that a reader has reached; `cursor_expired` when rows behind it are gone. */
  readAfter(position: number, limit: number): readonly EventRow[] {
    if (this.#isDeleted || position + 1 < this.#first) throw expired("events were deleted before they were read");
    const from = position + 1 - this.#first;
    return this.#rows.slice(from, from + limit);
  }

  /** Takes away the oldest rows as long as `isOld` says so. */
  purge(isOld: (event: StoredEvent) => boolean): readonly EventRow[] {
    const found = this.#rows.findIndex((row) => !isOld(row.event));
    const purged = this.#rows.splice(0, found === -1 ? this.#rows.length : found);
    this.#first += purged.length;
    return purged;
  }

  /** Its readers get `cursor_expired`. */
  markDeleted(): void {
    this.#isDeleted = true;
    this.wake();
  }

  enter(): void {
    this.#readers++;
  }

  leave(): void {
    this.#readers--;
  }

  /** Resolves at the next append that stays, or when a signal aborts. */
  changed(signals: readonly AbortSignal[]): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#wakes.delete(wake);
        for (const signal of signals) signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#wakes.add(wake);
      for (const signal of signals) signal.addEventListener("abort", wake);
      if (signals.some((signal) => signal.aborted)) wake();
    });
  }

  wake(): void {
    for (const wake of [...this.#wakes]) wake();
  }
}

const expired = (message: string): AwakenError => new AwakenError("cursor_expired", message);

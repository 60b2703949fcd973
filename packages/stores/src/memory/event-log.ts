import { AwakenError, type EventCursor, eventCursor } from "@awaken/contract";
import type { Journal, Savepoint } from "./journal.ts";

/** The events of one thread or run in their order. Cursors hold the tag of the log, so that they fit no other one. */
export class EventLog<Row> {
  readonly type: "thread" | "run";
  readonly #tag: string;
  readonly #rows: Row[] = [];
  /** Absent until somebody waits: most logs have no reader. */
  #wakes: Set<() => void> | undefined;
  /** The position of the oldest event that is kept; positions start at 1 and are never used again. */
  #first = 1;
  #isDeleted = false;
  /** Of the work that appended last: one undo step takes back all that it appends. */
  #savepoint: Savepoint | undefined;
  #readers = 0;

  constructor(type: "thread" | "run", tag: string) {
    this.type = type;
    this.#tag = tag;
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  get head(): EventCursor | undefined {
    return this.#rows.length === 0 ? undefined : this.cursorAt(this.last);
  }

  /** The position of the newest event. */
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

  cursorAt(position: number): EventCursor {
    return eventCursor(`${this.#tag}-${position}`);
  }

  append(row: Row, journal: Journal): void {
    if (this.#savepoint !== journal.savepoint) {
      this.#savepoint = journal.savepoint;
      const { length } = this.#rows;
      journal.undo(() => {
        this.#rows.length = length;
      });
      if (this.#wakes !== undefined && this.#wakes.size > 0) journal.after(() => this.wake());
    }
    this.#rows.push(row);
  }

  /** Where the cursor stands; `cursor_expired` unless its event is kept here. */
  positionOf(cursor: EventCursor): number {
    const position = Number(cursor.slice(this.#tag.length + 1));
    if (position >= this.#first && position <= this.last && this.cursorAt(position) === cursor) return position;
    throw expired(`event cursor '${cursor}' is unknown or expired`);
  }

  /** Up to `limit` events after a position that a reader has reached; `cursor_expired` when some behind it are gone. */
  readAfter(position: number, limit: number): readonly Row[] {
    if (this.#isDeleted || position + 1 < this.#first) throw expired("events were deleted before they were read");
    const from = position + 1 - this.#first;
    return this.#rows.slice(from, from + limit);
  }

  /** Takes away the oldest events as long as `isOld` says so. */
  purge(isOld: (row: Row) => boolean): readonly Row[] {
    const found = this.#rows.findIndex((row) => !isOld(row));
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
    this.#wakes ??= new Set();
    const wakes = this.#wakes;
    return new Promise((resolve) => {
      const wake = () => {
        wakes.delete(wake);
        for (const signal of signals) signal.removeEventListener("abort", wake);
        resolve();
      };
      wakes.add(wake);
      for (const signal of signals) signal.addEventListener("abort", wake);
      if (signals.some((signal) => signal.aborted)) wake();
    });
  }

  wake(): void {
    for (const wake of [...(this.#wakes ?? [])]) wake();
  }
}

const expired = (message: string): AwakenError => new AwakenError("cursor_expired", message);

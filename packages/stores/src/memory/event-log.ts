import { AwakenError, type EventCursor, eventCursor, type StoredEvent } from "@awaken/contract";
import type { Journal, Savepoint } from "./journal.ts";

/** The events of one thread or run in their order. Cursors hold the tag of the log, so that they fit no other one. */
export class EventLog {
  readonly type: "thread" | "run";
  readonly #tag: string;
  readonly #events: StoredEvent[] = [];
  readonly #wakes = new Set<() => void>();
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

  get events(): readonly StoredEvent[] {
    return this.#events;
  }

  get head(): EventCursor | undefined {
    return this.#events.at(-1)?.cursors[this.type];
  }

  /** The position of the newest event. */
  get last(): number {
    return this.#first + this.#events.length - 1;
  }

  get first(): number {
    return this.#first;
  }

  /** Nothing would be lost with it. */
  get isIdle(): boolean {
    return this.#events.length === 0 && this.#readers === 0;
  }

  nextCursor(): EventCursor {
    return eventCursor(`${this.#tag}-${this.last + 1}`);
  }

  append(event: StoredEvent, journal: Journal): void {
    if (this.#savepoint !== journal.savepoint) {
      this.#savepoint = journal.savepoint;
      const { length } = this.#events;
      journal.undo(() => {
        this.#events.length = length;
      });
      if (this.#wakes.size > 0) journal.after(() => this.wake());
    }
    this.#events.push(event);
  }

  /** Where the cursor stands; `cursor_expired` unless its event is kept here. */
  positionOf(cursor: EventCursor): number {
    const position = Number(cursor.slice(this.#tag.length + 1));
    if (this.#events[position - this.#first]?.cursors[this.type] === cursor) return position;
    throw expired(`event cursor '${cursor}' is unknown or expired`);
  }

  /** Up to `limit` events after a position that a reader has reached; `cursor_expired` when some behind it are gone. */
  readAfter(position: number, limit: number): readonly StoredEvent[] {
    if (this.#isDeleted || position + 1 < this.#first) throw expired("events were deleted before they were read");
    const from = position + 1 - this.#first;
    return this.#events.slice(from, from + limit);
  }

  /** Takes away the oldest events as long as `isOld` says so. */
  purge(isOld: (event: StoredEvent) => boolean): readonly StoredEvent[] {
    const found = this.#events.findIndex((event) => !isOld(event));
    const purged = this.#events.splice(0, found === -1 ? this.#events.length : found);
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

import { AwakenError } from "@awaken/contract";
import { type EventCursor, eventCursor } from "@awaken/contract/store";
import type { Journal } from "./journal.ts";

export type LogType = "thread" | "run";

/** Events that lie behind each other in each of their logs. */
export interface Stretch {
  readonly count: number;
  readonly createdAt: number;
  /** The position of the first one. */
  firstIn(log: LogType): number;
}

/** Makes the tags of logs: cursors hold them, so that they fit no other log. */
export class Tags {
  readonly #seed: string;
  #last = 0;

  /** The seed keeps cursors of another store from fitting. Short, because it is in every cursor. */
  constructor(seed: string) {
    this.#seed = seed.slice(0, 8);
  }

  next(): number {
    this.#last++;
    return this.#last;
  }

  textOf(tag: number): string {
    return `${this.#seed}${tag.toString(36)}`;
  }
}

/** Those who read a log now. */
interface Audience {
  count: number;
  readonly wakes: Set<() => void>;
}

/** The events of one thread or run in their order. */
export class EventLog<Batch extends Stretch> {
  /** For reading: `append`, `remove` and `purge` change it. */
  batches: Batch[] = [];
  readonly type: LogType;
  /** The newest position that went with a deleted thread. */
  removed = 0;
  readonly #tags: Tags;
  readonly #tag: number;
  /** The position of the oldest event that is kept; positions start at 1 and are never used again. */
  #first = 1;
  #isDeleted = false;
  /** Absent until somebody reads: most logs have no reader. */
  #audience: Audience | undefined;

  constructor(type: LogType, tags: Tags) {
    this.type = type;
    this.#tags = tags;
    this.#tag = tags.next();
  }

  get head(): EventCursor | undefined {
    return this.batches.length === 0 ? undefined : this.cursorAt(this.newest);
  }

  /** The position that was given last. */
  get last(): number {
    return Math.max(this.newest, this.removed);
  }

  /** The position of the newest event that is kept. */
  get newest(): number {
    const batch = this.batches.at(-1);
    return batch === undefined ? this.#first - 1 : batch.firstIn(this.type) + batch.count - 1;
  }

  /** When the newest event that is kept was appended. */
  get lastAt(): number {
    return this.batches.at(-1)?.createdAt ?? 0;
  }

  get first(): number {
    return this.#first;
  }

  /** Nothing would be lost with it. */
  get isIdle(): boolean {
    return this.batches.length === 0 && (this.#audience?.count ?? 0) === 0;
  }

  cursorAt(position: number): EventCursor {
    return eventCursor(`${this.#tags.textOf(this.#tag)}-${position}`);
  }

  append(batch: Batch, journal: Journal): void {
    journal.keepField<EventLog<Batch>, "batches">(this, "batches", this.batches);
    this.batches = journal.extended(this.batches, [batch]);
    if (this.#audience !== undefined && this.#audience.wakes.size > 0) journal.after(() => this.wake());
  }

  /** Where the cursor stands; `cursor_expired` unless its event is kept here. */
  positionOf(cursor: EventCursor): number {
    const position = Number(cursor.slice(this.#tags.textOf(this.#tag).length + 1));
    const batch = this.batches[batchOf(this, position)];
    if (batch !== undefined && position >= batch.firstIn(this.type) && this.cursorAt(position) === cursor) return position;
    throw expired(`event cursor '${cursor}' is unknown or expired`);
  }

  /** The events after a position that a reader has reached; `cursor_expired` when some behind it are gone. */
  *readAfter(position: number): Generator<readonly [batch: Batch, index: number], void, undefined> {
    if (this.#isDeleted || position + 1 < this.#first) throw expired("events were deleted before they were read");
    const { batches } = this;
    let index = position + 1;
    for (let at = batchOf(this, position + 1); at < batches.length; at++) {
      const batch = batches[at];
      if (batch === undefined) return;
      const first = batch.firstIn(this.type);
      index = Math.max(index, first);
      for (; index < first + batch.count; index++) yield [batch, index - first];
    }
  }

  /** Takes away what went with a deleted thread; the others keep their positions. */
  remove(isGone: (batch: Batch) => boolean, journal: Journal): void {
    journal.keepField<EventLog<Batch>, "batches">(this, "batches", this.batches);
    journal.keepField<EventLog<Batch>, "removed">(this, "removed", this.removed);
    this.removed = this.last;
    this.batches = this.batches.filter((batch) => !isGone(batch));
  }

  /** Takes away the oldest events as long as `isOld` says so. */
  purge(isOld: (batch: Batch) => boolean): readonly Batch[] {
    const found = this.batches.findIndex((batch) => !isOld(batch));
    const { last } = this;
    const purged = this.batches.splice(0, found === -1 ? this.batches.length : found);
    if (purged.length > 0) this.#first = this.batches[0]?.firstIn(this.type) ?? last + 1;
    return purged;
  }

  /** Its readers get `cursor_expired`. */
  markDeleted(): void {
    this.#isDeleted = true;
    this.wake();
  }

  enter(): void {
    this.#audience ??= { count: 0, wakes: new Set() };
    this.#audience.count++;
  }

  leave(): void {
    if (this.#audience !== undefined) this.#audience.count--;
  }

  /** Resolves at the next append that stays, or when a signal aborts. */
  changed(signals: readonly AbortSignal[]): Promise<void> {
    this.#audience ??= { count: 0, wakes: new Set() };
    const { wakes } = this.#audience;
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

  /** Calls `wake` at every append that stays. */
  listen(wake: () => void): () => void {
    this.enter();
    const wakes = this.#audience?.wakes;
    // A function of its own, so that two who give the same one are two.
    const own = () => wake();
    wakes?.add(own);
    return () => {
      if (wakes?.delete(own)) this.leave();
    };
  }

  wake(): void {
    for (const wake of [...(this.#audience?.wakes ?? [])]) wake();
  }
}

/** Which batch holds the position; behind the last one for a position that is yet to come. */
function batchOf<Batch extends Stretch>({ batches, type }: EventLog<Batch>, position: number): number {
  let low = 0;
  let high = batches.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const batch = batches[middle];
    if (batch !== undefined && batch.firstIn(type) + batch.count <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

const expired = (message: string): AwakenError => new AwakenError("cursor_expired", message);

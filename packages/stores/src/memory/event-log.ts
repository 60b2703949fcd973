import { type EventCursor, eventCursor } from "@awaken/contract/store";
import { type Journal, NONE } from "./journal.ts";

export type LogType = "thread" | "run";

/** Events that lie behind each other in each of their logs. */
export interface Stretch {
  readonly count: number;
  /** When the newest was appended. */
  readonly lastAt: number;
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
export interface Audience {
  count: number;
  readonly wakes: Set<() => void>;
}

/** The events of one thread or run in their order. Reading them is in `log-reads.ts`. */
export class EventLog<Batch extends Stretch> {
  /** The newest batch, and those before it: mostly there is one. `append`, and `removeFrom` and `purge` of `log-reads.ts`, change them. */
  tail: Batch | undefined;
  older: Batch[] = NONE;
  readonly type: LogType;
  /** The newest position that went with a deleted thread. */
  removed = 0;
  readonly #tags: Tags;
  readonly #tag: number;
  /** The position of the oldest event that is kept; positions start at 1 and are never used again. */
  first = 1;
  isDeleted = false;
  /** Absent until somebody reads: most logs have no reader. */
  audience: Audience | undefined;

  constructor(type: LogType, tags: Tags) {
    this.type = type;
    this.#tags = tags;
    this.#tag = tags.next();
  }

  /** All of them, the oldest first. */
  get batches(): Batch[] {
    return this.tail === undefined ? [] : [...this.older, this.tail];
  }

  get head(): EventCursor | undefined {
    return this.tail === undefined ? undefined : this.cursorAt(this.newest);
  }

  /** The position that was given last. */
  get last(): number {
    return Math.max(this.newest, this.removed);
  }

  /** The position of the newest event that is kept. */
  get newest(): number {
    const batch = this.tail;
    return batch === undefined ? this.first - 1 : batch.firstIn(this.type) + batch.count - 1;
  }

  /** When the newest event that is kept was appended. */
  get lastAt(): number {
    return this.tail?.lastAt ?? 0;
  }

  /** What its cursors begin with. */
  get tag(): string {
    return this.#tags.textOf(this.#tag);
  }

  cursorAt(position: number): EventCursor {
    return eventCursor(`${this.tag}-${position}`);
  }

  /** With what was added last, that is in `batch`. */
  append(batch: Batch, journal: Journal): void {
    const { tail } = this;
    if (tail !== batch) {
      journal.keepField<EventLog<Batch>, "tail">(this, "tail", tail);
      this.tail = batch;
      if (tail !== undefined) {
        journal.keepField<EventLog<Batch>, "older">(this, "older", this.older);
        this.older = journal.extended<Batch>(this.older, [tail]);
      }
    }
    if (this.audience !== undefined && this.audience.wakes.size > 0) journal.after(() => this.wake());
  }

  /** Calls `wake` at every append that stays. */
  listen(wake: () => void): () => void {
    const { wakes } = enter(this);
    // A function of its own, so that two who give the same one are two.
    const own = () => wake();
    wakes.add(own);
    return () => {
      if (wakes.delete(own)) leave(this);
    };
  }

  wake(): void {
    for (const wake of [...(this.audience?.wakes ?? [])]) wake();
  }
}

type Heard = Pick<EventLog<Stretch>, "audience">;

/** Somebody reads it. */
export function enter(log: Heard): Audience {
  log.audience ??= { count: 0, wakes: new Set() };
  log.audience.count++;
  return log.audience;
}

export function leave({ audience }: Heard): void {
  if (audience !== undefined) audience.count--;
}

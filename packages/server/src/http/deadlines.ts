import type { Clock } from "@awaken/runtime";

interface Entry {
  readonly at: number;
  readonly onOver: () => void;
}

/** One limit of time for many: they are over in the order in which they began, so that one timer, for the oldest, is enough. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #entries = new Set<Entry>();
  readonly #now: () => number;
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
    this.#now = () => clock.elapsed?.() ?? clock.now();
  }

  /** The value, unless the time is over before: then the error. What comes later reaches nobody but `onLate`. */
  within<T>(work: Promise<T>, errorOf: () => Error, onLate: (value: T) => void = () => {}): Promise<T> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const entry: Entry = {
        at: this.#now() + this.#ms,
        onOver: () => {
          isOver = true;
          reject(errorOf());
        },
      };
      this.#entries.add(entry);
      this.#watch();
      work.then(
        (value) => {
          if (isOver) return onLate(value);
          this.#entries.delete(entry);
          resolve(value);
        },
        (thrown: unknown) => {
          this.#entries.delete(entry);
          reject(thrown);
        },
      );
    });
  }

  /** The timer goes on beyond what it was set for: the next ones need none of their own. */
  #watch(): void {
    if (this.#stopTimer !== undefined) return;
    const [oldest] = this.#entries;
    if (oldest === undefined) return;
    const { idleTimer = this.#clock.timer } = this.#clock;
    this.#stopTimer = idleTimer.call(this.#clock, Math.max(0, oldest.at - this.#now()), () => {
      this.#stopTimer = undefined;
      const now = this.#now();
      for (const entry of this.#entries) {
        if (entry.at > now) break;
        this.#entries.delete(entry);
        entry.onOver();
      }
      this.#watch();
    });
  }

  /** Sets no timer any more. */
  close(): void {
    if (this.#entries.size > 0) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }
}

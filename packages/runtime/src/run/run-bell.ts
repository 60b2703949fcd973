import type { RunId } from "@awaken/contract";
import type { LiveStore } from "@awaken/contract/store";
import { onAbort } from "../stream/abort.ts";
import type { Clock } from "../stream/clock.ts";

/** A store that wakes nobody is asked again and again. */
const POLL_MS = 250;
/** What a store tells may be lost with the process that told it. */
const LOOK_MS = 10_000;

/** Wakes whoever waits for something to be written about a run. What was written before it was made is for the caller to read. */
export class RunBell implements Disposable {
  readonly #live: LiveStore | undefined;
  readonly #followed = new Map<RunId, () => void>();
  #isRung = false;
  #wake: (() => void) | undefined;

  constructor(live: LiveStore | undefined, runId: RunId) {
    this.#live = live;
    this.follow(runId);
  }

  /** Rings for this run too. Whether it did not before: what was written of it until now rang nothing. */
  follow(runId: RunId): boolean {
    if (this.#followed.has(runId)) return false;
    this.#followed.set(runId, this.#live?.follow({ type: "run", runId }, () => this.ring()) ?? (() => {}));
    return true;
  }

  /** Until it rings, it is worth another look, `ms` are over, or the signal aborts. */
  wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let stopTimer = () => {};
      // Before the timer, because a clock may fire at once.
      const off = onAbort(signal, () => this.#wake?.());
      this.#wake = () => {
        this.#wake = undefined;
        this.#isRung = false;
        off();
        stopTimer();
        resolve();
      };
      stopTimer = clock.timer(Math.min(this.#live === undefined ? POLL_MS : LOOK_MS, ms), () => this.#wake?.());
      if (this.#isRung || signal.aborted) this.#wake?.();
    });
  }

  /** There is something to look at. */
  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  [Symbol.dispose](): void {
    for (const leave of this.#followed.values()) leave();
  }
}

import type { StreamPart } from "@awaken/contract";
import { onAbort } from "../stream/abort.ts";
import type { Clock } from "../stream/clock.ts";

/** How a stream ended: read to its end, given up by the caller, silent for too long, or broken. */
export type StreamEnd =
  | { readonly type: "drained" }
  | { readonly type: "aborted" }
  | { readonly type: "stalled" }
  | { readonly type: "broken"; readonly thrown: unknown };

export interface ReadInit {
  readonly iterator: AsyncIterator<StreamPart>;
  readonly signal: AbortSignal;
  /** Called when the signal aborts, before the reading ends. */
  readonly abort: (reason: unknown) => void;
  readonly clock: Clock;
  /** Silence that counts as a stall; 0 waits for ever. */
  readonly idleMs: number;
  /** Answers whether the stream has said all that matters: a failure after that is no failure. */
  readonly take: (part: StreamPart) => boolean;
}

const DRAINED: StreamEnd = { type: "drained" };
const ABORTED: StreamEnd = { type: "aborted" };
const STALLED: StreamEnd = { type: "stalled" };

/** How long a stream that said its last word may take to close. */
const CLOSING_MS = 1000;
const CLOSING_WAITS = 4;

const NOTHING = () => {};
const NOW = Promise.resolve();

/**
 * Reads a stream to its end. Costs one abort listener and one timer per stream, none per part; when this resolves both are gone.
 * The iterator is not closed here. What `take` throws is thrown on.
 */
export const readStream = (init: ReadInit): Promise<StreamEnd> => new Reading(init).run();

class Reading {
  readonly #init: ReadInit;
  readonly #end = Promise.withResolvers<StreamEnd>();
  #isOver = false;
  #hasSaidAll = false;
  #lastPartAt: number;
  #stopTimer = NOTHING;
  #off = NOTHING;

  constructor(init: ReadInit) {
    this.#init = init;
    this.#lastPartAt = init.clock.now();
  }

  run(): Promise<StreamEnd> {
    const { signal, abort, idleMs } = this.#init;
    if (idleMs > 0) this.#watch(idleMs);
    this.#off = onAbort(signal, () => {
      abort(signal.reason);
      this.#finish(ABORTED);
    });
    if (!this.#isOver) {
      this.#pump().catch((thrown) => {
        this.#release();
        this.#end.reject(thrown);
      });
    }
    return this.#end.promise;
  }

  async #pump(): Promise<void> {
    const { iterator, clock, take } = this.#init;
    for (;;) {
      let step: IteratorResult<StreamPart, unknown>;
      try {
        step = await iterator.next();
      } catch (thrown) {
        this.#finish(this.#hasSaidAll ? DRAINED : { type: "broken", thrown });
        return;
      }
      if (this.#isOver) return;
      if (step.done === true) {
        this.#finish(DRAINED);
        return;
      }
      this.#lastPartAt = clock.now();
      if (take(step.value) && !this.#hasSaidAll) {
        this.#hasSaidAll = true;
        this.#watchClosing(CLOSING_WAITS);
      }
    }
  }

  #watch(ms: number): void {
    const { clock, idleMs } = this.#init;
    this.#stopTimer = clock.timer(ms, () => {
      const quietMs = clock.now() - this.#lastPartAt;
      if (this.#hasSaidAll) this.#finish(DRAINED);
      else if (quietMs >= idleMs) this.#finish(STALLED);
      else this.#watch(idleMs - quietMs);
    });
  }

  /** Most streams close within a few microtasks: only those that do not get a timer for it. */
  #watchClosing(waits: number): void {
    void NOW.then(() => {
      if (this.#isOver) return;
      if (waits > 1) this.#watchClosing(waits - 1);
      else {
        this.#stopTimer();
        this.#watch(CLOSING_MS);
      }
    });
  }

  #release(): void {
    this.#isOver = true;
    this.#stopTimer();
    this.#off();
  }

  #finish(how: StreamEnd): void {
    if (this.#isOver) return;
    this.#release();
    this.#end.resolve(how);
  }
}

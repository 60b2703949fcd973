import type { StreamPart } from "@awaken/contract";
import type { Clock } from "../stream/clock.ts";
import type { OpenedStream } from "./opened-stream.ts";

/** How a stream ended: all of it was said, given up by the caller, silent for too long, or broken. */
export type StreamEnd = { readonly type: "drained"; readonly isClosed: boolean } | { readonly type: "aborted" } | FailedStream;

export type FailedStream = { readonly type: "stalled" } | { readonly type: "broken"; readonly thrown: unknown };

/** Whoever the parts are for. */
export interface Taker {
  /** Answers whether the stream has said all that matters: a failure after that is no failure. */
  take(part: StreamPart): boolean;
}

export interface ReadInit {
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

const DRAINED: StreamEnd = { type: "drained", isClosed: true };
/** It said its last word and did not close. */
const LEFT_OPEN: StreamEnd = { type: "drained", isClosed: false };
const ABORTED: StreamEnd = { type: "aborted" };
const STALLED: StreamEnd = { type: "stalled" };

/** How long a stream that said its last word may take to close. */
const CLOSING_MS = 1000;
const CLOSING_WAITS = 4;

const NOTHING = () => {};
const NOW = Promise.resolve();

/**
 * Reads a stream to its end. Silence of `idleMs` is a stall, and it begins when the stream is asked for; 0 waits for ever. Costs one abort listener and one timer per stream, none
 * per part; when this resolves both are gone. The stream is not released here, unless the taker throws: that is thrown on.
 */
export const readStream = (init: ReadInit, stream: OpenedStream, idleMs: number, taker: Taker): Promise<StreamEnd> =>
  new Reading(init, stream, idleMs, taker).run();

class Reading {
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  readonly #stream: OpenedStream;
  readonly #idleMs: number;
  readonly #taker: Taker;
  #settle: (end: StreamEnd | Promise<never>) => void = NOTHING;
  #isOver = false;
  #hasSaidAll = false;
  #closingWaits = CLOSING_WAITS;
  #lastPartAt: number;
  #stopTimer = NOTHING;
  readonly #onAbort = () => this.#abort();
  // Not an async function: this way a part costs half of what an `await` allocates.
  readonly #onStep = (step: IteratorResult<StreamPart, unknown>): void => {
    if (this.#isOver) return;
    try {
      if (step.done === true) {
        this.#finish(DRAINED);
        return;
      }
      this.#lastPartAt = this.#clock.now();
      if (this.#taker.take(step.value) && !this.#hasSaidAll) {
        this.#hasSaidAll = true;
        this.#watchClosing();
      }
    } catch (thrown) {
      this.#fail(thrown);
      return;
    }
    if (!this.#isOver) this.#next();
  };
  readonly #onFailure = (thrown: unknown) => this.#finish(this.#hasSaidAll ? DRAINED : { type: "broken", thrown });

  constructor({ signal, clock }: ReadInit, stream: OpenedStream, idleMs: number, taker: Taker) {
    this.#signal = signal;
    this.#clock = clock;
    this.#stream = stream;
    this.#idleMs = idleMs;
    this.#taker = taker;
    this.#lastPartAt = stream.askedAt;
  }

  run(): Promise<StreamEnd> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      if (this.#signal.aborted) {
        this.#abort();
        return;
      }
      if (this.#idleMs > 0) this.#watch(this.#idleMs - (this.#clock.now() - this.#lastPartAt));
      this.#signal.addEventListener("abort", this.#onAbort);
      this.#next();
    });
  }

  #next(): void {
    try {
      Promise.resolve(this.#stream.iterator.next()).then(this.#onStep, this.#onFailure);
    } catch (thrown) {
      this.#onFailure(thrown);
    }
  }

  #abort(): void {
    this.#stream.abort(this.#signal.reason);
    this.#finish(ABORTED);
  }

  #watch(ms: number): void {
    this.#stopTimer = this.#clock.timer(ms, () => {
      const quietMs = this.#clock.now() - this.#lastPartAt;
      if (this.#hasSaidAll) this.#finish(LEFT_OPEN);
      else if (quietMs >= this.#idleMs) this.#finish(STALLED);
      else this.#watch(this.#idleMs - quietMs);
    });
  }

  /** Most streams close within a few microtasks: only those that do not get a timer for it. */
  #watchClosing(): void {
    void NOW.then(() => {
      if (this.#isOver) return;
      this.#closingWaits -= 1;
      if (this.#closingWaits > 0) this.#watchClosing();
      else {
        this.#stopTimer();
        this.#watch(CLOSING_MS);
      }
    });
  }

  #release(): void {
    this.#isOver = true;
    this.#stopTimer();
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  #finish(how: StreamEnd): void {
    if (this.#isOver) return;
    this.#release();
    this.#settle(how);
  }

  #fail(thrown: unknown): void {
    // Whoever ended the reading releases the stream.
    if (this.#isOver) return;
    this.#release();
    this.#stream.release(false);
    this.#settle(Promise.reject(thrown));
  }
}

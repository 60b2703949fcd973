import type { StreamPart } from "@awaken/contract";
import { type AbortEar, type AbortSource, abortSource } from "../stream/abort-source.ts";
import type { Clock } from "../stream/clock.ts";
import type { Late } from "../stream/door.ts";
import type { OpenedStream } from "./opened-stream.ts";

/** How a stream ended: all of it was said, given up by the caller, silent for too long, or broken. */
export type StreamEnd = { readonly type: "drained"; readonly isClosed: boolean } | { readonly type: "aborted" } | FailedStream;

export type FailedStream = { readonly type: "stalled" } | { readonly type: "broken"; readonly thrown: unknown };

/** Whoever the parts are for. */
export interface Taker<T> {
  /** Answers whether the stream has said all that matters: a failure after that is no failure. */
  take(part: StreamPart): boolean;
  /** Gives what comes of it. It is told where the end is noticed, so that no promise waits for another one while the stream is silent. */
  ended(stream: OpenedStream, end: StreamEnd): Late<T>;
}

export interface ReadInit {
  readonly signal: AbortSignal;
  /** Where its abort is heard. Default: at the signal. */
  readonly source?: AbortSource | undefined;
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
 * Reads a stream to its end. Silence of `idleMs` is a stall, and it begins when the stream is asked for; 0 waits for ever. Costs one ear for the abort and one timer per stream, none
 * per part; when its end is told both are gone. The stream is not released here, unless the taker throws: that is thrown on.
 */
export const readStream = <T>(init: ReadInit, stream: OpenedStream, idleMs: number, taker: Taker<T>): Promise<T> =>
  new Reading(init, stream, idleMs, taker).run();

class Reading<T> implements AbortEar {
  readonly #source: AbortSource;
  readonly #clock: Clock;
  readonly #stream: OpenedStream;
  readonly #idleMs: number;
  readonly #taker: Taker<T>;
  #settle: (given: Late<T>) => void = NOTHING;
  #isOver = false;
  #hasSaidAll = false;
  #closingWaits = CLOSING_WAITS;
  #lastPartAt: number;
  #stopTimer = NOTHING;
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
  readonly #onTime = (): void => {
    const quietMs = this.#clock.now() - this.#lastPartAt;
    if (this.#hasSaidAll) this.#finishLater(LEFT_OPEN);
    else if (quietMs >= this.#idleMs) this.#finishLater(STALLED);
    else this.#watch(this.#idleMs - quietMs);
  };
  readonly #onFailure = (thrown: unknown) => this.#finish(this.#hasSaidAll ? DRAINED : { type: "broken", thrown });

  constructor({ signal, source, clock }: ReadInit, stream: OpenedStream, idleMs: number, taker: Taker<T>) {
    this.#source = source ?? abortSource(signal);
    this.#clock = clock;
    this.#stream = stream;
    this.#idleMs = idleMs;
    this.#taker = taker;
    this.#lastPartAt = stream.askedAt;
  }

  run(): Promise<T> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      if (this.#source.signal.aborted) {
        this.aborted();
        return;
      }
      if (this.#idleMs > 0) this.#watch(this.#idleMs - (this.#clock.now() - this.#lastPartAt));
      this.#source.hear(this);
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

  aborted(): void {
    this.#stream.abort(this.#source.signal.reason);
    this.#finishLater(ABORTED);
  }

  #watch(ms: number): void {
    this.#stopTimer = this.#clock.timer(ms, this.#onTime);
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
    this.#source.unhear(this);
  }

  #finish(how: StreamEnd): void {
    if (this.#isOver) return;
    this.#release();
    try {
      this.#settle(this.#taker.ended(this.#stream, how));
    } catch (thrown) {
      this.#settle(Promise.reject(thrown));
    }
  }

  /** Not in the call of whoever aborts, or of a timer. */
  #finishLater(how: StreamEnd): void {
    if (this.#isOver) return;
    this.#release();
    this.#settle(NOW.then(() => this.#taker.ended(this.#stream, how)));
  }

  #fail(thrown: unknown): void {
    // Whoever ended the reading releases the stream.
    if (this.#isOver) return;
    this.#release();
    this.#stream.release(false);
    this.#settle(Promise.reject(thrown));
  }
}

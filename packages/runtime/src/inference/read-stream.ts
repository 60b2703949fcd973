import { NOWHERE, type StreamPart } from "@awaken/contract";
import { type AbortEar, type AbortSource, abortSource } from "../stream/abort-source.ts";
import type { Clock } from "../stream/clock.ts";
import type { Late } from "../stream/door.ts";
import { SilenceWatch, type Speaker } from "../stream/silence-watch.ts";
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
  /** Who looks for silence, for many streams. Default: one of its own. */
  readonly silence?: SilenceWatch | undefined;
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
 * Reads a stream to its end. Silence of `idleMs` is a stall, and it begins when the stream is asked for; 0 waits for ever. Costs one ear for the abort per stream and a place among those
 * that are watched, nothing per part; when its end is told both are gone. The stream is not released here, unless the taker throws: that is thrown on.
 */
export const readStream = <T>(init: ReadInit, stream: OpenedStream, idleMs: number, taker: Taker<T>): Promise<T> =>
  new Reading(init, stream, idleMs, taker).run();

class Reading<T> implements AbortEar, Speaker {
  readonly #source: AbortSource;
  readonly #clock: Clock;
  readonly #stream: OpenedStream;
  readonly #silence: SilenceWatch;
  readonly limitMs: number;
  silentSince: number;
  seat = NOWHERE;
  isHeard = false;
  readonly #taker: Taker<T>;
  #settle: (given: Late<T>) => void = NOTHING;
  #isOver = false;
  #hasSaidAll = false;
  #closingWaits = CLOSING_WAITS;
  #stopTimer = NOTHING;
  // Not an async function: this way a part costs half of what an `await` allocates.
  readonly #onStep = (step: IteratorResult<StreamPart, unknown>): void => {
    if (this.#isOver) return;
    try {
      if (step.done === true) {
        this.#finish(DRAINED);
        return;
      }
      this.isHeard = true;
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

  constructor({ signal, source, clock, silence }: ReadInit, stream: OpenedStream, idleMs: number, taker: Taker<T>) {
    this.#source = source ?? abortSource(signal);
    this.#clock = clock;
    this.#stream = stream;
    this.#silence = silence ?? new SilenceWatch(clock);
    this.limitMs = idleMs;
    this.silentSince = stream.askedAt;
    this.#taker = taker;
  }

  run(): Promise<T> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      if (this.#source.signal.aborted) {
        this.aborted();
        return;
      }
      if (this.limitMs > 0) this.#silence.add(this);
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

  silent(): void {
    this.#finishLater(STALLED);
  }

  /** Most streams close within a few microtasks: only those that do not get a timer for it. */
  #watchClosing(): void {
    void NOW.then(() => {
      if (this.#isOver) return;
      this.#closingWaits -= 1;
      if (this.#closingWaits > 0) this.#watchClosing();
      else {
        this.#silence.remove(this);
        this.#stopTimer = this.#clock.timer(CLOSING_MS, () => this.#finishLater(LEFT_OPEN));
      }
    });
  }

  #release(): void {
    this.#isOver = true;
    this.#silence.remove(this);
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

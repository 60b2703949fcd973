interface Waiting<E> {
  resolve(value: IteratorResult<E, undefined>): void;
  reject(thrown: unknown): void;
}

const DONE: IteratorResult<never, undefined> = Object.freeze({ value: undefined, done: true });

/** From here on, events that were read are cut off as soon as they are half of what is kept. */
const MIN_CUT = 1_024;

/**
 * Events of one producer for one reader, and the result that comes after them. Pushing is synchronous and never waits;
 * until somebody reads, events are kept. A reader that leaves only detaches: the producer goes on, later events are dropped.
 * The first `end` or `fail` counts.
 */
export class EventStream<E, R> implements AsyncIterable<E> {
  readonly result: Promise<R>;
  #buffer: E[] = [];
  #head = 0;
  #isOver = false;
  #isDetached = false;
  #isRead = false;
  #failure: { readonly thrown: unknown } | undefined;
  #waiting: Waiting<E>[] = [];
  readonly #settle: { resolve(value: R): void; reject(thrown: unknown): void };

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    this.result = promise;
    this.#settle = { resolve, reject };
    // Whoever only reads events must not be killed by a rejection that he does not look at.
    promise.catch(() => {});
  }

  push(event: E): void {
    if (this.#isOver || this.#isDetached) return;
    const waiting = this.#waiting.length === 0 ? undefined : this.#waiting.shift();
    if (waiting === undefined) this.#buffer.push(event);
    else waiting.resolve({ value: event, done: false });
  }

  end(result: R): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settle.resolve(result);
    this.#release();
  }

  /** For bugs and broken ports only; expected failure is a result. */
  fail(thrown: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settle.reject(thrown);
    if (!this.#isDetached) this.#failure = { thrown };
    this.#release();
  }

  /** Lets go of all events, kept ones too: nobody is going to read them. The result still comes. */
  detach(): void {
    this.#isDetached = true;
    this.#buffer = [];
    this.#head = 0;
    this.#failure = undefined;
    this.#release();
  }

  [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
    if (this.#isRead) throw new TypeError("an event stream can be read once");
    this.#isRead = true;
    return {
      next: () => this.#next(),
      return: () => {
        this.detach();
        return Promise.resolve(DONE);
      },
    };
  }

  #next(): Promise<IteratorResult<E, undefined>> {
    if (this.#head < this.#buffer.length) return Promise.resolve({ value: this.#take(), done: false });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (this.#isOver || this.#isDetached) this.#release();
    });
  }

  #take(): E {
    const event = this.#buffer[this.#head++] as E;
    if (this.#head === this.#buffer.length) {
      this.#buffer.length = 0;
      this.#head = 0;
    } else if (this.#head >= MIN_CUT && this.#head * 2 >= this.#buffer.length) {
      this.#buffer = this.#buffer.slice(this.#head);
      this.#head = 0;
    }
    return event;
  }

  /** Lets everybody who waits go: the first with the failure, if there is one that was not told yet. */
  #release(): void {
    const all = this.#waiting;
    if (all.length === 0) return;
    this.#waiting = [];
    for (const waiting of all) {
      const failure = this.#failure;
      this.#failure = undefined;
      if (failure === undefined) waiting.resolve(DONE);
      else waiting.reject(failure.thrown);
    }
  }
}

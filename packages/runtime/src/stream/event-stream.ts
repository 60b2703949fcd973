import type { Hearer } from "./listeners.ts";

/** Methods, so that a stream with a result of some type fits where any result will do. */
interface Outcome<R> {
  readonly promise: Promise<R>;
  resolve(value: R): void;
  reject(thrown: unknown): void;
}

/** Answers a read that waits; one that fails is answered with a rejection. */
type Answer<E> = (result: IteratorResult<E, undefined> | Promise<never>) => void;

type Ending<R> = { readonly type: "result"; readonly result: R } | { readonly type: "failure"; readonly thrown: unknown };

const DONE: IteratorResult<never, undefined> = Object.freeze({ value: undefined, done: true });

/** From here on, events that were read are cut off as soon as they are half of what is kept. */
const MIN_CUT = 1_024;

/**
 * Events of one producer for one reader, and the result that comes after them. Pushing is synchronous and never waits;
 * until somebody reads, events are kept. A reader that leaves only detaches: the producer goes on, later events are dropped.
 * The first `end` or `fail` counts.
 */
export class EventStream<E, R> implements AsyncIterable<E>, Hearer<E> {
  /** Undefined while nothing is kept: whoever reads along has it at once. */
  #buffer: E[] | undefined;
  #head = 0;
  #ending: Ending<R> | undefined;
  #isDetached = false;
  #isRead = false;
  #failure: { readonly thrown: unknown } | undefined;
  #waiting: Answer<E> | undefined;
  /** Whoever asked while somebody was waiting already; few readers do. */
  #line: Answer<E>[] | undefined;
  #result: Outcome<R> | undefined;
  #onDetach: (() => void) | undefined;
  /** One for all reads, which wait mostly. */
  readonly #wait = (answer: Answer<E>): void => {
    if (this.#waiting === undefined) this.#waiting = answer;
    else {
      this.#line ??= [];
      this.#line.push(answer);
    }
    if (this.#ending !== undefined || this.#isDetached) this.#release();
  };

  /** Made when somebody asks for it. Nobody is killed by a rejection that he does not look at. */
  get result(): Promise<R> {
    if (this.#result === undefined) {
      this.#result = Promise.withResolvers<R>();
      this.#result.promise.catch(() => {});
      this.#tellEnding();
    }
    return this.#result.promise;
  }

  push(event: E): void {
    if (this.#ending !== undefined || this.#isDetached) return;
    const waiting = this.#waiting;
    if (waiting === undefined) {
      if (this.#buffer === undefined) this.#buffer = [event];
      else this.#buffer.push(event);
    } else {
      this.#waiting = this.#line?.shift();
      waiting({ value: event, done: false });
    }
  }

  end(result: R): void {
    if (this.#ending !== undefined) return;
    this.#ending = { type: "result", result };
    this.#tellEnding();
    this.#release();
  }

  /** For bugs and broken ports only; expected failure is a result. */
  fail(thrown: unknown): void {
    if (this.#ending !== undefined) return;
    this.#ending = { type: "failure", thrown };
    this.#tellEnding();
    if (!this.#isDetached) this.#failure = { thrown };
    this.#release();
  }

  onDetach(left: () => void): () => void {
    if (this.#isDetached) left();
    else this.#onDetach = left;
    return () => {
      if (this.#onDetach === left) this.#onDetach = undefined;
    };
  }

  /** Lets go of all events, kept ones too: nobody is going to read them. The result still comes. */
  detach(): void {
    this.#isDetached = true;
    this.#buffer = undefined;
    this.#head = 0;
    this.#failure = undefined;
    this.#release();
    const left = this.#onDetach;
    this.#onDetach = undefined;
    left?.();
  }

  /** It is its own iterator: it is read once. */
  [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
    if (this.#isRead) throw new TypeError("an event stream can be read once");
    this.#isRead = true;
    return this;
  }

  return(): Promise<IteratorResult<E, undefined>> {
    this.detach();
    return Promise.resolve(DONE);
  }

  next(): Promise<IteratorResult<E, undefined>> {
    if (this.#buffer !== undefined) return Promise.resolve({ value: this.#take(this.#buffer), done: false });
    return new Promise(this.#wait);
  }

  #tellEnding(): void {
    const ending = this.#ending;
    if (ending?.type === "result") this.#result?.resolve(ending.result);
    else if (ending?.type === "failure") this.#result?.reject(ending.thrown);
  }

  #take(buffer: E[]): E {
    const event = buffer[this.#head++] as E;
    if (this.#head === buffer.length) {
      this.#buffer = undefined;
      this.#head = 0;
    } else if (this.#head >= MIN_CUT && this.#head * 2 >= buffer.length) {
      this.#buffer = buffer.slice(this.#head);
      this.#head = 0;
    }
    return event;
  }

  /** Lets everybody who waits go: the first with the failure, if there is one that was not told yet. */
  #release(): void {
    while (this.#waiting !== undefined) {
      const waiting = this.#waiting;
      const failure = this.#failure;
      this.#waiting = this.#line?.shift();
      this.#failure = undefined;
      waiting(failure === undefined ? DONE : Promise.reject(failure.thrown));
    }
  }
}

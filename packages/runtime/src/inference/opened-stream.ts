import type { StreamPart } from "@awaken/contract";

/** A stream to read. It does not hear of the caller's abort by itself: whoever reads it breaks it off. */
export class OpenedStream {
  /** Not a field: all of them are. */
  get type(): "opened" {
    return "opened";
  }

  readonly iterator: AsyncIterator<StreamPart>;
  /** Since when the provider owes a sign of life, by `elapsedOn`. */
  readonly askedAt: number;
  readonly #controller: AbortController;

  constructor(stream: AsyncIterable<StreamPart>, askedAt: number, controller: AbortController) {
    this.iterator = stream[Symbol.asyncIterator]();
    this.askedAt = askedAt;
    this.#controller = controller;
  }

  /** Tells the provider to stop. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** To be called once. A stream that did not close by itself is broken off. */
  release(isClosed: boolean): void {
    if (isClosed) return;
    this.#controller.abort();
    closeIterator(this.iterator);
  }
}

/** Ends the iteration without waiting for it: a provider in the middle of a wait answers only after that. */
export function closeIterator(iterator: AsyncIterator<StreamPart>): void {
  try {
    iterator.return?.()?.then(undefined, () => {});
  } catch {
    // Whoever fails to close has nothing left that we could use.
  }
}

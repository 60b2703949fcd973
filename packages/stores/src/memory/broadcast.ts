/** Beyond this a listener that does not read misses something: hints are best effort. */
const MAX_WAITING = 1_000;

interface Listener<T> {
  readonly accepts: (item: T) => boolean;
  readonly waiting: T[];
  wake: () => void;
}

/** Tells everybody who listens, and nobody who does not. */
export class Broadcast<T> {
  readonly #listeners = new Set<Listener<T>>();

  send(item: T): void {
    for (const listener of this.#listeners) {
      if (!listener.accepts(item) || listener.waiting.length >= MAX_WAITING) continue;
      listener.waiting.push(item);
      listener.wake();
    }
  }

  /** Listens from this call on, until one of the signals aborts. */
  listen(signals: readonly AbortSignal[], accepts: (item: T) => boolean = () => true): AsyncIterable<T> {
    const listener: Listener<T> = { accepts, waiting: [], wake: () => {} };
    const stop = () => {
      this.#listeners.delete(listener);
      for (const signal of signals) signal.removeEventListener("abort", stop);
      listener.wake();
    };
    const isOver = () => signals.some((signal) => signal.aborted);
    if (!isOver()) {
      this.#listeners.add(listener);
      for (const signal of signals) signal.addEventListener("abort", stop);
    }
    return read(listener, isOver, stop);
  }
}

async function* read<T>(listener: Listener<T>, isOver: () => boolean, stop: () => void): AsyncGenerator<T, void, undefined> {
  try {
    while (!isOver()) {
      const item = listener.waiting.shift();
      if (item !== undefined) yield item;
      else {
        await new Promise<void>((resolve) => {
          listener.wake = resolve;
        });
      }
    }
  } finally {
    stop();
  }
}

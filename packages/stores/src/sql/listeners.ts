/** Beyond this a listener that does not read misses something: what goes through here is best effort. */
const MAX_WAITING = 1_000;

interface Listener<T> {
  readonly accepts: (item: T) => boolean;
  readonly waiting: T[];
  wake: () => void;
}

const isAborted = (signals: readonly AbortSignal[]): boolean => signals.some((signal) => signal.aborted);

function onAbort(signals: readonly AbortSignal[], act: () => void): () => void {
  for (const signal of signals) signal.addEventListener("abort", act);
  return () => {
    for (const signal of signals) signal.removeEventListener("abort", act);
  };
}

/** Passes items on to whoever listens. */
export class Broadcast<T> {
  readonly #listeners = new Set<Listener<T>>();

  get size(): number {
    return this.#listeners.size;
  }

  send(item: T): void {
    for (const listener of this.#listeners) {
      if (!listener.accepts(item) || listener.waiting.length >= MAX_WAITING) continue;
      listener.waiting.push(item);
      listener.wake();
    }
  }

  /** From this call on, until a signal aborts. */
  listen(signals: readonly AbortSignal[], accepts: (item: T) => boolean): AsyncIterable<T> {
    const listener: Listener<T> = { accepts, waiting: [], wake: () => {} };
    const off = onAbort(signals, () => stop());
    const stop = () => {
      off();
      this.#listeners.delete(listener);
      listener.wake();
    };
    if (isAborted(signals)) off();
    else this.#listeners.add(listener);
    return drain(listener, signals, stop);
  }
}

async function* drain<T>(listener: Listener<T>, signals: readonly AbortSignal[], stop: () => void): AsyncGenerator<T, void, undefined> {
  try {
    while (!isAborted(signals)) {
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

/** Rings between two waits are not lost: the next wait returns at once. It also rings when one of the signals aborts. */
export class Bell {
  readonly #signals: readonly AbortSignal[];
  #isRung = false;
  #wake = () => {};

  constructor(signals: readonly AbortSignal[]) {
    this.#signals = signals;
  }

  ring(): void {
    this.#isRung = true;
    this.#wake();
  }

  async wait(): Promise<void> {
    if (!this.#isRung && !isAborted(this.#signals)) {
      let off = () => {};
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        off = onAbort(this.#signals, resolve);
      });
      off();
    }
    this.#isRung = false;
  }
}

/** Bells by what they wait for. */
export class Bells {
  readonly #bells = new Map<string, Set<Bell>>();

  get size(): number {
    return this.#bells.size;
  }

  hang(key: string, bell: Bell): () => void {
    const bells = this.#bells.get(key) ?? new Set();
    this.#bells.set(key, bells.add(bell));
    return () => {
      bells.delete(bell);
      if (bells.size === 0 && this.#bells.get(key) === bells) this.#bells.delete(key);
    };
  }

  ring(key: string): void {
    for (const bell of this.#bells.get(key) ?? []) bell.ring();
  }

  ringAll(): void {
    for (const key of this.#bells.keys()) this.ring(key);
  }
}

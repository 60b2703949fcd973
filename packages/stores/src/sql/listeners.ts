import { errorMessage, type ScopeId } from "@awaken/contract";
import type { ConfigKey, ScopedHint } from "@awaken/contract/store";
import { Parcels } from "../parcels.ts";

/** Beyond this a listener that does not read misses something: what goes through here is best effort. */
const MAX_WAITING = 1_000;

interface Listener<T> {
  /** Takes the item if it is for this listener. */
  readonly offer: (item: T) => void;
}

interface Inbox<R> {
  readonly waiting: R[];
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
  readonly #onWait: () => void;

  /** `onWait`: whenever somebody comes to listen. */
  constructor(onWait: () => void = () => {}) {
    this.#onWait = onWait;
  }

  get size(): number {
    return this.#listeners.size;
  }

  send(item: T): void {
    for (const { offer } of this.#listeners) offer(item);
  }

  /** From this call on, until a signal aborts; items that `pick` has no answer for are for others. */
  listen<R>(signals: readonly AbortSignal[], pick: (item: T) => R | undefined): AsyncIterable<R> {
    const inbox: Inbox<R> = { waiting: [], wake: () => {} };
    const offer = (item: T) => {
      const picked = inbox.waiting.length < MAX_WAITING ? pick(item) : undefined;
      if (picked === undefined) return;
      inbox.waiting.push(picked);
      inbox.wake();
    };
    const listener = { offer };
    const off = onAbort(signals, () => stop());
    const stop = () => {
      off();
      this.#listeners.delete(listener);
      inbox.wake();
    };
    if (isAborted(signals)) off();
    else {
      this.#listeners.add(listener);
      this.#onWait();
    }
    return drain(inbox, signals, stop);
  }
}

async function* drain<R>(inbox: Inbox<R>, signals: readonly AbortSignal[], stop: () => void): AsyncGenerator<R, void, undefined> {
  try {
    while (!isAborted(signals)) {
      const item = inbox.waiting.shift();
      if (item !== undefined) yield item;
      else {
        await new Promise<void>((resolve) => {
          inbox.wake = resolve;
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

/** What can be rung. */
export interface Ringer {
  ring(): void;
}

/** Bells by what they wait for. */
export class Bells {
  readonly #bells = new Map<string, Set<Ringer>>();
  readonly #onWait: () => void;

  /** `onWait`: whenever a bell is hung. */
  constructor(onWait: () => void = () => {}) {
    this.#onWait = onWait;
  }

  get size(): number {
    return this.#bells.size;
  }

  hang(key: string, bell: Ringer): () => void {
    const bells = this.#bells.get(key) ?? new Set();
    this.#bells.set(key, bells.add(bell));
    this.#onWait();
    return () => {
      bells.delete(bell);
      if (bells.size === 0 && this.#bells.get(key) === bells) this.#bells.delete(key);
    };
  }

  ring(key: string): void {
    for (const bell of this.#bells.get(key) ?? []) {
      try {
        bell.ring();
      } catch (thrown) {
        // One that fails is no matter of the others, nor of whoever rings.
        process.emitWarning(`a follower of a log has failed: ${errorMessage(thrown)}`);
      }
    }
  }

  ringAll(): void {
    for (const key of this.#bells.keys()) this.ring(key);
  }
}

/** Who waits for what, in this process. */
export interface Channels {
  /** Followers of event logs. */
  readonly bells: Bells;
  readonly hints: Broadcast<ScopedHint>;
  readonly parcels: Parcels;
  readonly config: Broadcast<ScopedConfigKey>;
}

export interface ScopedConfigKey {
  readonly scopeId: ScopeId;
  readonly key: ConfigKey;
}

/** `onWait`: whenever somebody comes to wait for what a commit may bring. */
export const createChannels = (onWait?: () => void): Channels => ({
  bells: new Bells(onWait),
  hints: new Broadcast(onWait),
  parcels: new Parcels(),
  config: new Broadcast(),
});

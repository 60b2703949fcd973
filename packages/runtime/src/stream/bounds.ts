import { type PartRules, partRule } from "@awaken/contract";
import { type AbortEar, type AbortSource, abortSource } from "./abort-source.ts";
import type { BoundsInit, Limited, Limiting, Limits, Watch, Work } from "./limited-parts.ts";
import { limits } from "./limits-door.ts";

export type { Limits, OnAbort, Watch, Work } from "./limited-parts.ts";

export const DEFAULT_LIMITS: Limits = Object.freeze({
  hookMs: 120_000,
  gateMs: 60_000,
  actionMs: 120_000,
  effectMs: 60_000,
  schemaMs: 30_000,
  storeMs: 60_000,
  initializeMs: 120_000,
});

const LIMIT = partRule("milliseconds above 0", (ms) => typeof ms === "number" && ms > 0);

/** What can be given as limits: names that there are, with times that can pass. */
export const LIMIT_RULES: PartRules<Limits> = {
  hookMs: LIMIT,
  gateMs: LIMIT,
  actionMs: LIMIT,
  effectMs: LIMIT,
  schemaMs: LIMIT,
  storeMs: LIMIT,
  initializeMs: LIMIT,
};

/** The given limits over the default ones. */
export function toLimits(given: Partial<Limits> = {}): Limits {
  const told = Object.entries(given).filter(([, ms]) => ms !== undefined);
  return told.length === 0 ? DEFAULT_LIMITS : { ...DEFAULT_LIMITS, ...Object.fromEntries(told) };
}

/** Its `then` costs less than `queueMicrotask`, which makes a resource of each. */
const NOW = Promise.resolve();

/** Any promise, of whatever make. */
export const isPromise = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";

/**
 * What one run waits for, and for how long. What it does not wait for any more is left behind: what comes of that later reaches nobody.
 * All of it shares one timer and one ear for the abort: a run asks its store often, and nearly every answer is there in time.
 */
export class Bounds implements AbortEar, Limiting {
  readonly source: AbortSource;
  /** Shared by all runs. */
  readonly init: BoundsInit;
  limited: Limited | undefined;
  /** Undefined while there is nothing: an empty set is 150 bytes. */
  #watched: Set<Watch> | undefined;
  #isHeld = false;
  #isListening = false;

  constructor(given: AbortSource | AbortSignal, init: BoundsInit) {
    this.source = abortSource(given);
    this.init = init;
  }

  /** Timer and listener stay between two waits, until it is let go. Otherwise nothing is left behind when nothing is watched. */
  hold(): void {
    this.#isHeld = true;
  }

  letGo(): void {
    this.#isHeld = false;
    this.#rest();
  }

  /**
   * Watches until it leaves; when the run is aborted already, it is told at once. However many wait, there is one ear
   * for them, because each one that is added costs a look through all.
   */
  add(watch: Watch): void {
    this.#watched ??= new Set();
    this.#watched.add(watch);
    if (this.source.signal.aborted) watch.aborted();
    else if (!this.#isListening) {
      this.#isListening = true;
      this.source.hear(this);
    }
  }

  leave(watch: Watch): void {
    if (this.#watched?.delete(watch) === true) this.#rest();
  }

  aborted(): void {
    this.#isListening = false;
    for (const watch of [...(this.#watched ?? [])]) if (this.#watched?.has(watch) === true) watch.aborted();
  }

  /** Nothing is watched and nobody holds it: it leaves nothing behind. */
  #rest(): void {
    if (this.#watched !== undefined && this.#watched.size > 0) return;
    this.#watched = undefined;
    if (this.#isHeld) return;
    this.limited?.rest();
    if (!this.#isListening) return;
    this.#isListening = false;
    this.source.unhear(this);
  }

  /** The value, or an error that says why nobody waits for it any more. */
  wait<T>(given: PromiseLike<T>, work: Work): Promise<T> {
    return new Promise((resolve, reject) => {
      let stop: (() => void) | undefined;
      let isThere = false;
      const { signal } = this.source;
      // Nothing that it gives counts any more, also while the part is on its way that says so.
      const isLeft = signal.aborted && work.onAbort === "leave";
      const begin = () => {
        if (isThere) return;
        const room = limits.open();
        if (room instanceof Promise) room.then(begin, withoutLimit);
        else stop = room.watch(this, work, (why) => reject(room.errorOf(this, why, work)));
      };
      /** The part cannot be loaded: it is waited for, as long as nobody tells the run to stop. */
      const withoutLimit = () => {
        const watch: Watch = { aborted: () => reject(signal.reason) };
        stop = () => this.leave(watch);
        if (!isThere) this.add(watch);
      };
      const end = () => {
        isThere = true;
        stop?.();
      };
      Promise.resolve(given).then(
        (value) => {
          if (isLeft) return;
          end();
          resolve(value);
        },
        (thrown: unknown) => {
          if (isLeft) return;
          end();
          reject(thrown);
        },
      );
      // What is there already has come by then, and needs no timer and no listener: a run on the memory store sets none (4 % of W1).
      if (signal.aborted) begin();
      else void NOW.then(begin);
    });
  }
}

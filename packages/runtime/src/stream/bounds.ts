import { type ErrorCode, type PartRules, partRule } from "@awaken/contract";
import { type AbortEar, type AbortSource, abortSource } from "./abort-source.ts";
import type { Clock } from "./clock.ts";
import type { Cut } from "./limited.ts";
import { limits } from "./limits-door.ts";
import type { SilenceWatch } from "./silence-watch.ts";

/** How long the code of others may keep a run waiting, in milliseconds. `Infinity` is no limit. */
export interface Limits {
  /** The hooks of one phase, together. Default 2 minutes. */
  readonly hookMs: number;
  /** One gate or policy, or the `approve` of a tool. Default 1 minute. */
  readonly gateMs: number;
  /** The handler of one action. Default 2 minutes. */
  readonly actionMs: number;
  /** The handler of one effect. Default 1 minute. */
  readonly effectMs: number;
  /** One asynchronous schema: input and output of a tool, the answer of a run. Default 30 seconds. */
  readonly schemaMs: number;
  /** One request to the store. Default 1 minute. */
  readonly storeMs: number;
  /** The plugins that connect to something, all together. Default 2 minutes. */
  readonly initializeMs: number;
}

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

/**
 * What the abort of the run means for work that is under way, or begins after it. `leave`: nothing that it gives counts any more.
 * `finish`: it has a moment, so that what it gives is kept. `grace`: it closes what was begun, and has what is left of the grace, but
 * never less than that moment. `record`: it puts the end on record, and has a time of its own.
 */
export type OnAbort = "leave" | "finish" | "grace" | "record";

/** What is waited for: its limit, and its name in an error. */
export interface Work {
  readonly limit: keyof Limits;
  readonly onAbort: OnAbort;
  readonly name: () => string;
  /** Of the error. Default `timeout`, after an abort `cancelled`. */
  readonly code?: ErrorCode;
}

export interface BoundsInit {
  readonly clock: Clock;
  readonly limits: Limits;
  /** After the abort: how long all that closes the run may take together. */
  readonly cancelGraceMs: number;
  /** Who looks for silence of streams, for all runs. */
  readonly silence?: SilenceWatch;
}

/** Its `then` costs less than `queueMicrotask`, which makes a resource of each. */
const NOW = Promise.resolve();

/** Any promise, of whatever make. */
export const isPromise = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";

/** Something that is waited for. */
export interface Watch {
  /** Called once when the run is aborted, unless it left before. */
  aborted(): void;
}

/** What has a limit of all that one run waits for: `limited.ts`. */
export interface Limited {
  watch(work: Work, fire: (why: Cut) => void): () => void;
  /** Leaves no timer behind. */
  rest(): void;
}

/**
 * What one run waits for, and for how long. What it does not wait for any more is left behind: what comes of that later reaches nobody.
 * All of it shares one timer and one ear for the abort: a run asks its store often, and nearly every answer is there in time.
 */
export class Bounds implements AbortEar {
  readonly source: AbortSource;
  /** Shared by all runs. */
  readonly init: BoundsInit;
  /** Undefined before something with a limit was waited for. */
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
      const begin = () => {
        if (isThere) return;
        const room = limits.open();
        if (room instanceof Promise) room.then(begin, reject);
        else stop = room.watch(this, work, (why) => reject(room.errorOf(this, why, work)));
      };
      const end = () => {
        isThere = true;
        stop?.();
      };
      Promise.resolve(given).then(
        (value) => {
          end();
          resolve(value);
        },
        (thrown: unknown) => {
          end();
          reject(thrown);
        },
      );
      // What is there already has come by then, and needs no timer and no listener: a run on the memory store sets none (4 % of W1).
      if (this.source.signal.aborted) begin();
      else void NOW.then(begin);
    });
  }
}

import { AwakenError, type ErrorCode, type PartRules, partRule } from "@awaken/contract";
import type { Clock } from "./clock.ts";

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

/** Why nobody waits any longer. */
export type Cut = "cancelled" | "late";

/**
 * What the abort of the run means for work that is under way, or begins after it. `leave`: nothing that it gives counts any more.
 * `finish`: it has a moment, so that what it gives is kept. `grace`: it closes what was begun, and has what is left of the grace, but
 * never less than that moment. `record`: it puts the end on record, and has a time of its own.
 */
export type OnAbort = "leave" | "finish" | "grace" | "record";

const FINISH_MS = 1_000;
const RECORD_MS = 5_000;

/** What is waited for: its limit, and its name in an error. */
export interface Work {
  readonly limit: keyof Limits;
  readonly onAbort: OnAbort;
  readonly name: () => string;
  /** Of the error. Default `timeout`, after an abort `cancelled`. */
  readonly code?: ErrorCode;
}

export interface BoundsInit {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limits: Limits;
  /** After the abort: how long all that closes the run may take together. */
  readonly graceMs: number;
}

const NOTHING = () => {};

/** Any promise, of whatever make. */
export const isPromise = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";

/** What one run waits for, and for how long. What it does not wait for any more is left behind: what comes of that later reaches nobody. */
export class Bounds {
  readonly #init: BoundsInit;
  /** By the clock; set when the abort is first noticed. */
  #graceEnd: number | undefined;

  constructor(init: BoundsInit) {
    this.#init = init;
  }

  /** The grace begins when this is asked first: whoever is watched when the run is aborted asks at once. */
  #timeLeft(onAbort: Exclude<OnAbort, "leave">): number {
    const { clock, graceMs } = this.#init;
    const now = clock.now();
    this.#graceEnd ??= now + graceMs;
    if (onAbort === "record") return RECORD_MS;
    const left = Math.min(graceMs, Math.max(0, this.#graceEnd - now));
    return onAbort === "finish" ? Math.min(left, FINISH_MS) : Math.max(left, FINISH_MS);
  }

  /** Calls `fire` once when it is time to go, unless the returned function is called first. Leaves no timer and no listener behind. */
  watch({ limit, onAbort }: Work, fire: (why: Cut) => void): () => void {
    const { signal, clock, limits } = this.#init;
    let isOver = false;
    let stopLimit = NOTHING;
    let stopGrace = NOTHING;
    const stop = () => {
      isOver = true;
      stopLimit();
      stopGrace();
      signal.removeEventListener("abort", abort);
    };
    const cut = (why: Cut) => {
      if (isOver) return;
      stop();
      fire(why);
    };
    const abort = () => {
      if (onAbort === "leave") return cut("cancelled");
      stopGrace = clock.timer(this.#timeLeft(onAbort), () => cut("cancelled"));
    };
    const ms = limits[limit];
    if (ms !== Number.POSITIVE_INFINITY) stopLimit = clock.timer(ms, () => cut("late"));
    if (signal.aborted) abort();
    else if (!isOver) signal.addEventListener("abort", abort, { once: true });
    return stop;
  }

  /** The value, or an error that says why nobody waits for it any more. */
  wait<T>(given: PromiseLike<T>, work: Work): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = this.watch(work, (why) => reject(this.errorOf(why, work)));
      Promise.resolve(given).then(
        (value) => {
          stop();
          resolve(value);
        },
        (thrown: unknown) => {
          stop();
          reject(thrown);
        },
      );
    });
  }

  errorOf(why: Cut, { limit, name, code }: Work): AwakenError {
    if (why === "cancelled") {
      return new AwakenError(code ?? "cancelled", `the run was cancelled, and ${name()} did not come to an end in time`);
    }
    const ms = this.#init.limits[limit];
    return new AwakenError(
      code ?? "timeout",
      `${name()} did not answer within ${ms} ms: find out what it waits for, or raise \`limits.${limit}\` of the runtime`,
      { details: { limit, ms } },
    );
  }
}

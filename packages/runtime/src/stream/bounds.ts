import { AwakenError } from "@awaken/contract";
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
}

export const DEFAULT_LIMITS: Limits = Object.freeze({
  hookMs: 120_000,
  gateMs: 60_000,
  actionMs: 120_000,
  effectMs: 60_000,
  schemaMs: 30_000,
  storeMs: 60_000,
});

const NAMES = Object.keys(DEFAULT_LIMITS);

/** The given limits over the default ones. Throws when one of them is none. */
export function readLimits(given: Partial<Limits> = {}): Limits {
  for (const [name, ms] of Object.entries(given)) {
    if (!NAMES.includes(name)) {
      throw new AwakenError("invalid_spec", `limits: there is no limit '${name}', only ${NAMES.join(", ")}`, { details: { name } });
    }
    if (ms !== undefined && !(typeof ms === "number" && ms > 0)) {
      throw new AwakenError("invalid_spec", `limits.${name} must be a number of milliseconds above 0`, { details: { name } });
    }
  }
  const told = Object.entries(given).filter(([, ms]) => ms !== undefined);
  return told.length === 0 ? DEFAULT_LIMITS : { ...DEFAULT_LIMITS, ...Object.fromEntries(told) };
}

/** Why nobody waits any longer. */
export type Cut = "cancelled" | "late";

/**
 * What the abort of the run means for work that is under way: `leave` it at once, because nothing that it gives counts any more; wait a
 * moment, so that it may `finish` and what it gives is kept; or wait for it within the `grace`, because it closes what was begun.
 */
export type OnAbort = "leave" | "finish" | "grace";

/** For what may finish after an abort. The rest of the grace is for what closes the run. */
const FINISH_MS = 1_000;

/** What is waited for: its limit, and its name in an error. */
export interface Work {
  readonly limit: keyof Limits;
  readonly onAbort: OnAbort;
  readonly name: () => string;
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

  limitOf(name: keyof Limits): number {
    return this.#init.limits[name];
  }

  /** What is left of the grace. It begins when it is first asked for, at the latest. */
  graceLeft(): number {
    const { clock, graceMs } = this.#init;
    const now = clock.now();
    this.#graceEnd ??= now + graceMs;
    return Math.min(graceMs, Math.max(0, this.#graceEnd - now));
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
      const left = this.graceLeft();
      stopGrace = clock.timer(onAbort === "finish" ? Math.min(left, FINISH_MS) : left, () => cut("cancelled"));
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

  errorOf(why: Cut, { limit, name }: Work): AwakenError {
    if (why === "cancelled") return new AwakenError("cancelled", `the run was cancelled, and ${name()} did not stop by itself in time`);
    const ms = this.#init.limits[limit];
    return new AwakenError(
      "timeout",
      `${name()} did not answer within ${ms} ms: find out what it waits for, or raise \`limits.${limit}\` of the runtime`,
      { details: { limit, ms } },
    );
  }
}

import { AwakenError } from "@awaken/contract";
import { elapsedOn } from "./clock.ts";
import type { Cut, Limited, Limiting, Watch, Work } from "./limited-parts.ts";

// The part of what a run waits for that is loaded when something with a limit does not answer at once.

const FINISH_MS = 1_000;
const RECORD_MS = 5_000;

/** Work that is watched. */
class LimitedWatch implements Watch {
  readonly #limited: LimitedWaits;
  readonly onAbort: Work["onAbort"];
  /** Called once when it is time to go, unless it left before. */
  readonly fire: (why: Cut) => void;
  /** Elapsed time. */
  until: number;
  why: Cut = "late";

  constructor(limited: LimitedWaits, onAbort: Work["onAbort"], until: number, fire: (why: Cut) => void) {
    this.#limited = limited;
    this.onAbort = onAbort;
    this.until = until;
    this.fire = fire;
  }

  aborted(): void {
    this.#limited.aborted(this);
  }
}

/** All waits of a run that have a limit, with one timer. */
class LimitedWaits implements Limited {
  readonly #bounds: Limiting;
  readonly #watched = new Set<LimitedWatch>();
  /** Elapsed time; set when the abort is first noticed. */
  #graceEnd: number | undefined;
  /** When the timer is due, and how it is taken back. It may be due earlier than anything that is watched: then it is set again. */
  #timer: { readonly at: number; stop: () => void } | undefined;

  constructor(bounds: Limiting) {
    this.#bounds = bounds;
  }

  watch({ limit, onAbort }: Work, fire: (why: Cut) => void): () => void {
    const watch = new LimitedWatch(this, onAbort, this.#now() + this.#bounds.init.limits[limit], fire);
    this.#watched.add(watch);
    this.#bounds.add(watch);
    this.#setTimer(watch.until);
    return () => this.#leave(watch);
  }

  rest(): void {
    this.#timer?.stop();
    this.#timer = undefined;
  }

  aborted(watch: LimitedWatch): void {
    if (watch.onAbort === "leave") {
      this.#cut(watch, "cancelled");
      return;
    }
    const until = this.#now() + this.#timeLeft(watch.onAbort);
    if (until >= watch.until) return;
    watch.until = until;
    watch.why = "cancelled";
    this.#setTimer(until);
  }

  /** The grace begins when this is asked first: whoever is watched when the run is aborted asks at once. */
  #timeLeft(onAbort: Exclude<Work["onAbort"], "leave">): number {
    const { cancelGraceMs: graceMs } = this.#bounds.init;
    const now = this.#now();
    this.#graceEnd ??= now + graceMs;
    if (onAbort === "record") return RECORD_MS;
    const left = Math.min(graceMs, Math.max(0, this.#graceEnd - now));
    return onAbort === "finish" ? Math.min(left, FINISH_MS) : Math.max(left, FINISH_MS);
  }

  /** False when it is not watched any more. */
  #leave(watch: LimitedWatch): boolean {
    if (!this.#watched.delete(watch)) return false;
    this.#bounds.leave(watch);
    return true;
  }

  #cut(watch: LimitedWatch, why: Cut): void {
    if (this.#leave(watch)) watch.fire(why);
  }

  #setTimer(at: number): void {
    const { size } = this.#watched;
    if (at === Number.POSITIVE_INFINITY) {
      // A wait without a limit may be long: no timer goes off for nothing meanwhile.
      if (size <= 1) this.rest();
      return;
    }
    if (size === 0 || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.stop();
    const timer = { at, stop: () => {} };
    this.#timer = timer;
    timer.stop = this.#bounds.init.clock.timer(Math.max(0, at - this.#now()), () => this.#due(at));
  }

  #due(now: number): void {
    this.#timer = undefined;
    for (const watch of [...this.#watched]) if (watch.until <= now) this.#cut(watch, watch.why);
    let next = Number.POSITIVE_INFINITY;
    for (const { until } of this.#watched) next = Math.min(next, until);
    this.#setTimer(next);
  }

  #now(): number {
    return elapsedOn(this.#bounds.init.clock);
  }
}

/** Calls `fire` once when it is time to go, unless the returned function is called first. */
export function watch(bounds: Limiting, work: Work, fire: (why: Cut) => void): () => void {
  bounds.limited ??= new LimitedWaits(bounds);
  return bounds.limited.watch(work, fire);
}

export function errorOf({ init: { limits } }: Limiting, why: Cut, { limit, name, code }: Work): AwakenError {
  if (why === "cancelled") {
    return new AwakenError(code ?? "cancelled", `the run was cancelled, and ${name()} did not come to an end in time`);
  }
  const ms = limits[limit];
  return new AwakenError(
    code ?? "timeout",
    `${name()} did not answer within ${ms} ms: find out what it waits for, or raise \`limits.${limit}\` of the runtime`,
    { details: { limit, ms } },
  );
}

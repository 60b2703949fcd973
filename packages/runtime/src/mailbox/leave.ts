import type { LeavingFailure, TakenBack, WayOut } from "../commit/holding.ts";
import type { Clock } from "../stream/clock.ts";

/** When what is at work in this process has to be with others, in ms since 1970; undefined: never. Asked again and again: it may move. */
export type YieldBefore = () => number | undefined;

export function isPast(yieldBefore: YieldBefore | undefined, now: number): boolean {
  const at = yieldBefore?.();
  return at !== undefined && at <= now;
}

/** What all runs of a process share. */
export interface LeaveInit {
  readonly clock: Clock;
  readonly yieldBefore: YieldBefore | undefined;
  /** Whether this process takes up what waits in the queue. */
  readonly hasWorkers: boolean;
}

/** Timers of most hosts take no more. */
const LONGEST_MS = 2 ** 31 - 1;

/** How one run leaves this process before its end: at its deadline, when the process is closed, or after a failure that may pass. */
export class Leave implements WayOut {
  readonly #init: LeaveInit;
  /** Whether it may fail once more. */
  readonly #hasTries: boolean;
  /** Somebody waits for his own run: he is told what its model says, and not that its store failed for a moment. */
  readonly #isAwaited: boolean;
  readonly #deadline: AbortController | undefined;
  #isAsked = false;
  #isHeld = false;
  #isBegunAgain = false;
  #stopTimer: (() => void) | undefined;

  constructor(init: LeaveInit, hasTries: boolean, isAwaited: boolean) {
    this.#init = init;
    this.#hasTries = hasTries;
    this.#isAwaited = isAwaited;
    if (init.yieldBefore === undefined) return;
    this.#deadline = new AbortController();
    this.#watch(init.yieldBefore);
  }

  /** Between two steps; the time may have moved since it was last asked for. */
  get isDue(): boolean {
    const { yieldBefore, clock } = this.#init;
    if (this.#isAsked || yieldBefore === undefined) return this.#isAsked;
    return this.#deadline?.signal.aborted === true || isPast(yieldBefore, clock.now());
  }

  get signal(): AbortSignal | undefined {
    return this.#deadline?.signal;
  }

  /** From the next step on. */
  ask(): void {
    this.#isAsked = true;
  }

  /** The run has its thread: it is on record, and there is something to go on from. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Another run starts it, which begins it once more when nothing of it is on record. */
  beginsAgain(): void {
    this.#isBegunAgain = true;
  }

  takesBack({ mayPass, of, code }: LeavingFailure): TakenBack | undefined {
    const isAwaited = this.#isAwaited;
    if (!mayPass || !this.#hasTries || (isAwaited && of === "model")) return undefined;
    if (!this.#isHeld) return this.#isBegunAgain && code !== "storage_too_new" ? "later" : undefined;
    // This process can neither go on with it nor see what becomes of it.
    const isForOthers = !this.#init.hasWorkers || code === "storage_too_new";
    return isAwaited && isForOthers ? "elsewhere" : "later";
  }

  /** The run has left. */
  close(): void {
    this.#isHeld = false;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #watch(yieldBefore: YieldBefore): void {
    const { clock } = this.#init;
    const at = yieldBefore();
    if (at === undefined) return;
    const leftMs = at - clock.now();
    if (leftMs > 0) this.#stopTimer = clock.timer(Math.min(leftMs, LONGEST_MS), () => this.#watch(yieldBefore));
    else this.#deadline?.abort(new Error("the run is left to another process"));
  }
}

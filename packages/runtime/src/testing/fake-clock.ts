import { partsThere } from "@awaken/contract";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
  /** Nobody's work waits for it. */
  readonly isIdle: boolean;
}

/** A clock that stands still until it is told otherwise. */
export interface FakeClock extends Clock {
  /** Moves on by `ms`, firing timers in order, and lets what they woke run in between. */
  advance(ms: number): Promise<void>;
  /** Moves to the next timer, again and again, until there is none but idle ones or `limit` were fired. */
  runAll(limit?: number): Promise<void>;
  /** Timers, without idle ones, that are set and have neither fired nor been taken back: a finished run leaves none. */
  readonly pendingTimers: number;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Long enough for any chain of promises that a timer set off in this process, also where it loads a part of the runtime on its way. */
async function turnOver(): Promise<void> {
  await nextTurn();
  while (await partsThere()) await nextTurn();
}

/** A clock for tests: time moves only by `advance` and `runAll`. */
export function fakeClock(startMs = 0): FakeClock {
  let now = startMs;
  let order = 0;
  const timers = new Set<Timer>();
  const next = (until: number): Timer | undefined =>
    [...timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at || a.order - b.order)[0];
  const fire = async (timer: Timer) => {
    timers.delete(timer);
    now = Math.max(now, timer.at);
    timer.fire();
    await turnOver();
  };
  const set = (ms: number, run: () => void, isIdle: boolean) => {
    order += 1;
    const timer = { at: now + ms, order, fire: run, isIdle };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const busy = () => [...timers].filter(({ isIdle }) => !isIdle);
  return {
    now: () => now,
    timer: (ms, run) => set(ms, run, false),
    idleTimer: (ms, run) => set(ms, run, true),
    get pendingTimers() {
      return busy().length;
    },
    async advance(ms) {
      const until = now + ms;
      await turnOver();
      for (let timer = next(until); timer !== undefined; timer = next(until)) await fire(timer);
      now = until;
      await turnOver();
    },
    async runAll(limit = 1_000) {
      await turnOver();
      for (let count = 0; count < limit; count++) {
        const timer = busy().length === 0 ? undefined : next(Number.POSITIVE_INFINITY);
        if (timer === undefined) return;
        await fire(timer);
      }
    },
  };
}

/** `id-1`, `id-2`, … */
export function countingIds(prefix = "id"): Ids {
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${count}`;
  };
}

/** A process that is alone: it takes every other one for gone, so that what they left can be taken up at once. For tests that let runtimes die. */
export const soleNode = (name: string): { readonly name: string; isGone(): boolean } => ({ name, isGone: () => true });

/** A clock on which nobody waits: as soon as nothing else is left to do, time jumps to the next timer. */
export function instantClock(startMs = 0): Clock & {
  /** Timers that are set: a finished run leaves none. */
  readonly pendingTimers: number;
} {
  const clock = fakeClock(startMs);
  let isPumping = false;
  const pump = async () => {
    while (clock.pendingTimers > 0) await clock.runAll(1);
    isPumping = false;
  };
  return {
    now: () => clock.now(),
    get pendingTimers() {
      return clock.pendingTimers;
    },
    idleTimer: (ms, fire) => clock.idleTimer?.(ms, fire) ?? (() => {}),
    timer(ms, fire) {
      const stop = clock.timer(ms, fire);
      if (!isPumping) {
        isPumping = true;
        void pump();
      }
      return stop;
    },
  };
}

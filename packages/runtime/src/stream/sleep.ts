import { onAbort } from "./abort.ts";
import type { Clock } from "./clock.ts";

/** Waits `ms`, or less if the signal aborts: then the answer is false. Leaves no timer and no listener behind. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    let stop = () => {};
    // Before the timer, because a clock may fire at once.
    const off = signal === undefined ? stop : onAbort(signal, () => finish(false));
    const finish = (isOver: boolean) => {
      off();
      stop();
      resolve(isOver);
    };
    stop = clock.timer(ms, () => finish(true));
  });
}

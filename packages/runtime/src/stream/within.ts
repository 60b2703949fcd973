import { onAbort } from "./abort.ts";
import type { Clock } from "./clock.ts";

/** Until the promise is there, `ms` are over, or the signal aborts. Leaves nothing behind. */
export function within({ clock }: { readonly clock: Clock }, released: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    let stopTimer = () => {};
    const done = () => {
      off();
      stopTimer();
      resolve();
    };
    const off = onAbort(signal, done);
    stopTimer = clock.timer(ms, done);
    void released.then(done);
  });
}

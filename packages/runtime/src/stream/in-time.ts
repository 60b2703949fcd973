import type { Clock } from "./clock.ts";

/** Whether it is over within `ms`. Leaves no timer behind. */
export async function inTime({ clock }: { readonly clock: Clock }, work: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const stopTimer = clock.timer(ms, () => resolve(false));
  void work.then(() => resolve(true));
  const isOver = await promise;
  stopTimer();
  return isOver;
}

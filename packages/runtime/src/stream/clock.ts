/** Time and timers, handed in so that tests can own them. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds since some moment, that nobody can set: how long something takes is measured with it. Default: `now`. */
  elapsed?(): number;
  /** Calls `fire` once after `ms`, unless the returned function is called first. */
  timer(ms: number, fire: () => void): () => void;
  /** The same, for what must not keep a process alive that has nothing else to do. Default: `timer`. */
  idleTimer?(ms: number, fire: () => void): () => void;
}

/** The longest wait of one host timer; it fires at once when it is asked for more. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  timer(ms, fire) {
    if (ms > MAX_TIMER_MS) return longTimer(ms, fire);
    const handle = setTimeout(fire, ms);
    return () => clearTimeout(handle);
  },
  idleTimer(ms, fire) {
    const handle = setTimeout(fire, Math.min(ms, MAX_TIMER_MS));
    letGo(handle);
    return () => clearTimeout(handle);
  },
};

/** Hosts that keep a process alive for a timer let it go when they are told to. */
function letGo(handle: unknown): void {
  if (typeof handle === "object" && handle !== null && "unref" in handle && typeof handle.unref === "function") handle.unref();
}

/** As many host timers as it takes, one after the other. */
function longTimer(ms: number, fire: () => void): () => void {
  let handle: ReturnType<typeof setTimeout>;
  const wait = (left: number) => {
    handle = left > MAX_TIMER_MS ? setTimeout(() => wait(left - MAX_TIMER_MS), MAX_TIMER_MS) : setTimeout(fire, left);
  };
  wait(ms);
  return () => clearTimeout(handle);
}

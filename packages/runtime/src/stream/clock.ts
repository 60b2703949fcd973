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
  /** Calls `beat` every `ms`, from when it is first held on. Default: by `timer`. */
  ticker?(ms: number, beat: () => void): Ticker;
}

/** Keeps a process alive only while it is held. It may beat while it rests. */
export interface Ticker {
  /** Somebody waits for it. */
  hold(): void;
  /** Nobody does. */
  rest(): void;
  /** It beats no more. */
  stop(): void;
}

/** The time that how long something takes is measured with. */
export const elapsedOn = (clock: Clock): number => (clock.elapsed === undefined ? clock.now() : clock.elapsed());

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
    asHeld(handle).unref();
    return () => clearTimeout(handle);
  },
  ticker(ms, beat) {
    const handle = setInterval(beat, Math.min(ms, MAX_TIMER_MS));
    const held = asHeld(handle);
    held.unref();
    return { hold: () => held.ref(), rest: () => held.unref(), stop: () => clearInterval(handle) };
  },
};

/** What keeps a process alive, and can be told not to. */
interface Held {
  ref(): unknown;
  unref(): unknown;
}

const isHeld = (handle: unknown): handle is Held => typeof handle === "object" && handle !== null && "unref" in handle && "ref" in handle;

/** Where no timer keeps anything alive, its handle is a number. */
const NEVER_HELD: Held = { ref() {}, unref() {} };

const asHeld = (handle: unknown): Held => (isHeld(handle) ? handle : NEVER_HELD);

/** As many host timers as it takes, one after the other. */
function longTimer(ms: number, fire: () => void): () => void {
  let handle: ReturnType<typeof setTimeout>;
  const wait = (left: number) => {
    handle = left > MAX_TIMER_MS ? setTimeout(() => wait(left - MAX_TIMER_MS), MAX_TIMER_MS) : setTimeout(fire, left);
  };
  wait(ms);
  return () => clearTimeout(handle);
}

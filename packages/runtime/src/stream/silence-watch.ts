import { Roster, type Seated } from "@awaken/contract";
import { type Clock, elapsedOn, type Ticker } from "./clock.ts";

/** Whoever is expected to say something. */
export interface Speaker extends Seated {
  /** Set when it says something. No time is read for that: 3.4 % of a short run was the clock, asked for each part of a stream. */
  isHeard: boolean;
  /** Since when it is known to be silent, or the moment from which it is expected, by `elapsedOn`. */
  silentSince: number;
  readonly limitMs: number;
  /** It has been silent for its limit. Called again and again until it leaves. */
  silent(): void;
}

/** Looks within a limit. */
const LOOKS = 32;

/**
 * Finds who is silent for too long: never before the limit, and at most a 32nd of it later. All streams of a runtime share one timer, which
 * stays between two of them without keeping the process alive: a timer for each was 3.3 % of a short run.
 */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #speakers = new Roster<Speaker>();
  #ticker: Ticker | undefined;
  #everyMs = 0;
  #lookedAt = 0;
  readonly #look = (): void => {
    if (this.#speakers.size === 0) {
      this.#stop();
      return;
    }
    const now = elapsedOn(this.#clock);
    this.#lookedAt = now;
    for (const speaker of this.#speakers.all()) {
      if (speaker.isHeard) {
        speaker.isHeard = false;
        speaker.silentSince = now;
      } else if (now - speaker.silentSince >= speaker.limitMs) speaker.silent();
    }
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Its silence may have begun a while ago. */
  add(speaker: Speaker): void {
    this.#speakers.add(speaker);
    const everyMs = speaker.limitMs / LOOKS;
    const now = elapsedOn(this.#clock);
    if (this.#ticker === undefined || everyMs < this.#everyMs || this.#isLost(now)) this.#start(everyMs, now);
    if (this.#speakers.size === 1) this.#ticker?.hold();
  }

  remove(speaker: Speaker): void {
    if (this.#speakers.remove(speaker) && this.#speakers.size === 0) this.#ticker?.rest();
  }

  /** Timers get lost where a test puts others in their place, and where a program was stopped for long: then it is set anew. */
  #isLost(now: number): boolean {
    return Math.abs(now - this.#lookedAt) > 2 * this.#everyMs + 1_000;
  }

  #start(everyMs: number, now: number): void {
    this.#stop();
    this.#everyMs = everyMs;
    this.#lookedAt = now;
    this.#ticker = this.#clock.ticker?.(everyMs, this.#look) ?? tickerOf(this.#clock, everyMs, this.#look);
    if (this.#speakers.size > 1) this.#ticker.hold();
  }

  #stop(): void {
    this.#ticker?.stop();
    this.#ticker = undefined;
  }
}

/** For clocks that have timers alone: none is left while it rests. */
function tickerOf(clock: Clock, ms: number, beat: () => void): Ticker {
  let stopTimer: (() => void) | undefined;
  const hold = (): void => {
    stopTimer = clock.timer(ms, () => {
      hold();
      beat();
    });
  };
  const rest = (): void => {
    stopTimer?.();
    stopTimer = undefined;
  };
  return { hold, rest, stop: rest };
}

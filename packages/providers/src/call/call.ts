import { type AwakenError, InferenceError } from "@awaken/contract";
import { classify } from "../classify.ts";
import type { Scrub } from "../scrub.ts";

const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export interface CallLimits {
  /** How long opening and each gap between parts may take. */
  readonly timeoutMs: number;
  readonly scrub: Scrub;
}

/**
 * One call to a model: its signal follows the caller's, and one time limit holds for each wait. A wait ends on abort even
 * if the vendor ignores the signal. `end` must be called; it leaves no timer and no listener.
 */
export class Call {
  readonly #caller: AbortSignal;
  readonly #limits: CallLimits;
  readonly #controller = new AbortController();
  readonly #onAbort = () => this.#stop(this.#caller.reason);
  #fail: ((reason: unknown) => void) | undefined;
  #isTimedOut = false;

  constructor(caller: AbortSignal, limits: CallLimits) {
    this.#caller = caller;
    this.#limits = limits;
    if (caller.aborted) this.#stop(caller.reason);
    else caller.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** One wait at a time. */
  wait<T>(work: PromiseLike<T>, timeoutMs = this.#limits.timeoutMs): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => this.#onTimeout(), Math.min(timeoutMs, MAX_TIMEOUT_MS));
      this.#fail = (reason) => {
        clearTimeout(timer);
        reject(reason);
      };
      if (this.signal.aborted) this.#fail(this.signal.reason);
      work.then((value) => {
        clearTimeout(timer);
        resolve(value);
      }, this.#fail);
    });
  }

  /** What to throw for this error: a cancelled call and a spent time limit show up in vendor errors of every kind. */
  explain(thrown: unknown): InferenceError | AwakenError {
    if (this.#caller.aborted) return new InferenceError({ type: "cancelled", message: "cancelled" });
    if (this.#isTimedOut)
      return new InferenceError({ type: "timeout", message: `nothing received for ${this.#limits.timeoutMs / 1000} s` });
    return classify(thrown, this.#limits.scrub);
  }

  /** Releases the connection when it is still open. */
  end(): void {
    this.#caller.removeEventListener("abort", this.#onAbort);
    this.#stop(new DOMException("the call is over", "AbortError"));
  }

  #onTimeout(): void {
    this.#isTimedOut = true;
    this.#stop(new DOMException("the time limit is over", "TimeoutError"));
  }

  #stop(reason: unknown): void {
    this.#controller.abort(reason);
    this.#fail?.(reason);
  }
}

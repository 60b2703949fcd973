import type { RunId } from "@awaken/contract";
import type { LiveOutput } from "../loop/run-context.ts";

const MAX_KEPT = 1_000;

/** Schemas of runs that wait, so that an answer after a decision is checked by the same code as before. The oldest are let go. */
export class LiveOutputs {
  readonly #kept = new Map<RunId, LiveOutput>();

  of(run: RunId): LiveOutput | undefined {
    return this.#kept.get(run);
  }

  keep(run: RunId, output: LiveOutput): void {
    this.#kept.delete(run);
    this.#kept.set(run, output);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }

  forget(run: RunId): void {
    this.#kept.delete(run);
  }
}

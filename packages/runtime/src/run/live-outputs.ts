import { DEFAULT_SCOPE, type RunId, type ScopeId } from "@awaken/contract";
import type { LiveOutput } from "../loop/run-context.ts";
import { keyIn } from "../stream/scope-key.ts";

/** Of all tenants together. */
const MAX_KEPT = 1_000;

/** Schemas of runs that wait, so that an answer after a decision is checked by the same code as before. The oldest are let go. */
export class LiveOutputs {
  readonly #scopeId: ScopeId;
  readonly #kept: Map<string, LiveOutput>;

  constructor(scopeId: ScopeId = DEFAULT_SCOPE, kept: Map<string, LiveOutput> = new Map()) {
    this.#scopeId = scopeId;
    this.#kept = kept;
  }

  /** Those of another tenant. */
  scoped(scopeId: ScopeId): LiveOutputs {
    return new LiveOutputs(scopeId, this.#kept);
  }

  of(run: RunId): LiveOutput | undefined {
    return this.#kept.get(keyIn(this.#scopeId, run));
  }

  keep(run: RunId, output: LiveOutput): void {
    const key = keyIn(this.#scopeId, run);
    this.#kept.delete(key);
    this.#kept.set(key, output);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }

  forget(run: RunId): void {
    this.#kept.delete(keyIn(this.#scopeId, run));
  }
}

export interface BreakerPolicy {
  /** Failures in a row that open a circuit. */
  readonly failureThreshold: number;
  readonly cooldownMs: number;
  /** Probes that may be out at once after the cooldown. */
  readonly halfOpenMax: number;
}

export const DEFAULT_BREAKER_POLICY: BreakerPolicy = Object.freeze({ failureThreshold: 5, cooldownMs: 30_000, halfOpenMax: 1 });

type Circuit =
  | { readonly state: "closed"; readonly failures: number }
  | { readonly state: "open"; readonly failures: number; readonly failedAt: number }
  | { readonly state: "half-open"; readonly failures: number; readonly failedAt: number; readonly probes: number; readonly round: number };

export type CircuitState = Circuit["state"];

/** A permit to call. A probe is of one half-open round; `probe` 0 is an ordinary call. */
export type Admission = { readonly type: "admitted"; readonly probe: number } | { readonly type: "rejected" };

const FRESH: Circuit = Object.freeze({ state: "closed", failures: 0 });
const REJECTED: Admission = { type: "rejected" };
const ORDINARY: Admission = { type: "admitted", probe: 0 };

/**
 * Keeps callers away from what fails again and again; each key has its own circuit. Whoever is admitted reports exactly one of
 * `succeed`, `fail` and `abandon`.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy;
  readonly #circuits = new Map<string, Circuit>();
  #round = 0;

  constructor(policy: Partial<BreakerPolicy> = {}) {
    this.#policy = { ...DEFAULT_BREAKER_POLICY, ...policy };
  }

  state(key: string): CircuitState {
    return this.#get(key).state;
  }

  failures(key: string): number {
    return this.#get(key).failures;
  }

  /** Whether `check` would admit; changes nothing. */
  wouldAdmit(key: string, now: number): boolean {
    const circuit = this.#get(key);
    if (circuit.state === "closed") return true;
    if (circuit.state === "half-open") return circuit.probes < this.#policy.halfOpenMax;
    return now - circuit.failedAt >= this.#policy.cooldownMs;
  }

  check(key: string, now: number): Admission {
    const circuit = this.#get(key);
    if (circuit.state === "closed") return ORDINARY;
    if (!this.wouldAdmit(key, now)) return REJECTED;
    const { failures, failedAt } = circuit;
    const isNew = circuit.state === "open";
    if (isNew) this.#round += 1;
    const round = isNew ? this.#round : circuit.round;
    this.#circuits.set(key, { state: "half-open", failures, failedAt, probes: isNew ? 1 : circuit.probes + 1, round });
    return { type: "admitted", probe: round };
  }

  succeed(key: string): void {
    this.#circuits.delete(key);
  }

  fail(key: string, now: number): void {
    const circuit = this.#get(key);
    const failures = circuit.failures + 1;
    const isClosed = circuit.state === "closed" && failures < this.#policy.failureThreshold;
    this.#circuits.set(key, isClosed ? { state: "closed", failures } : { state: "open", failures, failedAt: now });
  }

  /** A call that ended without saying anything about the other side. An unanswered probe opens the circuit again. */
  abandon(key: string, probe: number): void {
    const circuit = this.#get(key);
    if (circuit.state !== "half-open" || circuit.round !== probe) return;
    this.#circuits.set(key, { state: "open", failures: circuit.failures, failedAt: circuit.failedAt });
  }

  #get(key: string): Circuit {
    return this.#circuits.get(key) ?? FRESH;
  }
}

import type { InferenceFailure, Provider } from "@awaken/contract";
import type { PoolSpec } from "@awaken/contract/spec";
import type { Clock } from "../../stream/clock.ts";
import type { Admission, CircuitBreaker } from "../circuit-breaker.ts";
import { isTransient } from "../retry.ts";
import { rendezvous } from "./rendezvous.ts";

/** A model of a pool and who serves it, in the order of the spec. */
export interface PoolMember {
  /** Its id in the registry. */
  readonly model: string;
  /** The name that its provider knows it by. */
  readonly upstream: string;
  readonly provider: Provider;
}

export interface MembersInit {
  readonly spec: PoolSpec;
  readonly members: readonly PoolMember[];
  readonly breaker: CircuitBreaker;
  readonly clock: Clock;
}

const ORDINARY: Admission = { type: "admitted", probe: 0 };

/** Who is in the pool, who is healthy, and who should serve a conversation. Members are named by their index. */
export class Members {
  readonly all: readonly PoolMember[];
  readonly #init: MembersInit;
  readonly #quarantined = new Set<number>();
  #rotation = 0;

  constructor(init: MembersInit) {
    this.#init = init;
    this.all = init.members;
  }

  isHealthy(index: number): boolean {
    const { spec, breaker, clock } = this.#init;
    if (this.#quarantined.has(index)) return false;
    return !spec.switch.onCircuitOpen || breaker.wouldAdmit(this.#model(index), clock.now());
  }

  quarantine(index: number): void {
    this.#quarantined.add(index);
  }

  /** Takes a probe where the circuit is half open; healthy members are always admitted. */
  admit(index: number): Admission {
    const { spec, breaker, clock } = this.#init;
    const admission = breaker.check(this.#model(index), clock.now());
    return spec.switch.onCircuitOpen ? admission : admission.type === "admitted" ? admission : ORDINARY;
  }

  succeed(index: number): void {
    this.#init.breaker.succeed(this.#model(index));
  }

  /** Only what may pass by itself says something about the member's health. */
  fail(index: number, probe: number, failure: InferenceFailure): void {
    if (isTransient(failure)) this.#init.breaker.fail(this.#model(index), this.#init.clock.now());
    else this.abandon(index, probe);
  }

  abandon(index: number, probe: number): void {
    if (probe > 0) this.#init.breaker.abandon(this.#model(index), probe);
  }

  /** Where a conversation starts. Without a healthy member it is the one that would be chosen if all were. */
  home(key: string): number {
    const members = this.#indexes().filter((index) => this.#spec(index).role === "member");
    const healthy = members.filter((index) => this.isHealthy(index));
    const candidates = healthy.length > 0 ? healthy : members;
    switch (this.#init.spec.routing.home) {
      case "deterministic":
        return this.#best(key, candidates) ?? 0;
      case "round-robin":
        return this.#rotate(candidates);
      case "first-healthy":
        return candidates[0] ?? 0;
    }
  }

  /** The best healthy member of any role among those that may be chosen. */
  failover(key: string, isAllowed: (index: number) => boolean): number | undefined {
    return this.#best(
      key,
      this.#indexes().filter((index) => isAllowed(index) && this.isHealthy(index)),
    );
  }

  #rotate(candidates: readonly number[]): number {
    const total = candidates.reduce((sum, index) => sum + this.#spec(index).weight, 0);
    let place = this.#rotation % total;
    this.#rotation += 1;
    for (const index of candidates) {
      place -= this.#spec(index).weight;
      if (place < 0) return index;
    }
    return candidates[0] ?? 0;
  }

  /** Ties go to the lower index. */
  #best(key: string, candidates: readonly number[]): number | undefined {
    let best: { readonly index: number; readonly score: number } | undefined;
    for (const index of candidates) {
      const score = rendezvous(key, this.#model(index), this.#spec(index).weight);
      if (best === undefined || score > best.score) best = { index, score };
    }
    return best?.index;
  }

  #indexes(): number[] {
    return [...this.all.keys()];
  }

  #spec(index: number): PoolSpec["members"][number] {
    const member = this.#init.spec.members[index];
    if (member === undefined) throw new RangeError(`pool '${this.#init.spec.id}' has no member ${index}`);
    return member;
  }

  #model(index: number): string {
    return this.#spec(index).model;
  }
}

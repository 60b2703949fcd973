import { isJsonObject } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";
import type { Commit } from "./read-log.ts";

/** A run below, as `child-start` tells of it. */
interface Child {
  readonly runId: string;
  readonly agentPath: readonly string[];
}

export interface Held {
  readonly fact: StoredEvent;
  /** That it was read with. */
  readonly commit: Commit;
  /** When it was put there, or first looked at. */
  since?: number;
}

/** A run that parks for one below it does so within this time. One that goes on may have nothing to write for long: then its ticket comes first. */
export const HELD_MS = 5_000;

const isAbove = ({ agentPath }: Child, path: readonly unknown[]): boolean =>
  path.length > agentPath.length && agentPath.every((agent, index) => path[index] === agent);

/**
 * Tickets of runs below are in the log of a run at once, and that those have begun only with its own next commit: whoever follows is told of
 * a ticket when he knows the run that asks, or the one between, but not long after it was put there.
 */
export class BegunChildren {
  readonly #begun: Child[] = [];
  #held: Held[] = [];
  /** Of a run whose start was not read, it is not known which runs it has started. */
  #isWhole = false;

  get held(): readonly StoredEvent[] {
    return this.#held.map(({ fact }) => fact);
  }

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** The run begins, or goes on: what it had not put on record by then is not told any more. */
  begin(isResumed: boolean): readonly StoredEvent[] {
    if (!isResumed) {
      this.#isWhole = true;
      this.#begun.length = 0;
    }
    return this.takeAll();
  }

  /** Whether the ticket of a run below has to wait. */
  holds(fact: StoredEvent, commit: Commit): boolean {
    const isEarly = this.#isEarly(fact.payload["ticket"]);
    if (isEarly) this.#held.push({ fact, commit });
    return isEarly;
  }

  /**
   * Where the start of the run was not read, what they wait for may have come before: it comes with the next that the run says itself, or it
   * did. `by` is a commit in which it said something; without one the log is at its end.
   */
  takeDoubtful(by?: Commit): readonly Held[] {
    if (this.#isWhole) return [];
    const doubtful = this.#held.filter(({ commit }) => commit !== by);
    this.#held = this.#held.filter(({ commit }) => commit === by);
    return doubtful;
  }

  /** Those that are not held any longer. */
  takeOverdue(now: number): readonly Held[] {
    const isOverdue = (held: Held): boolean => {
      held.since ??= Math.min(now, held.fact.createdAt);
      return now - held.since >= HELD_MS;
    };
    const overdue = this.#held.filter(isOverdue);
    this.#held = this.#held.filter((held) => !overdue.includes(held));
    return overdue;
  }

  #isEarly(ticket: unknown): boolean {
    if (!isJsonObject(ticket)) return false;
    const path = Array.isArray(ticket["agentPath"]) ? ticket["agentPath"] : [];
    return !this.#begun.some((child) => child.runId === ticket["runId"] || isAbove(child, path));
  }

  /** One has begun: tickets that waited for it. */
  add(child: Child): readonly StoredEvent[] {
    this.#begun.push(child);
    const held = this.#held;
    this.#held = held.filter(({ fact }) => this.#isEarly(fact.payload["ticket"]));
    return held.flatMap((each) => (this.#held.includes(each) ? [] : [each.fact]));
  }

  takeAll(): readonly StoredEvent[] {
    return this.#held.splice(0).map(({ fact }) => fact);
  }
}

import { isJsonObject } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";
import type { Commit } from "./read-log.ts";

/** A run below, as `child-start` tells of it. */
interface Child {
  readonly runId: string;
  readonly agentPath: readonly string[];
}

const isAbove = ({ agentPath }: Child, path: readonly unknown[]): boolean =>
  path.length > agentPath.length && agentPath.every((agent, index) => path[index] === agent);

/**
 * Tickets of runs below are in the log of a run at once, and that those have begun only with its own next commit: whoever follows is told of
 * a ticket when he knows the run that asks, or the one between.
 */
export class BegunChildren {
  readonly #begun: Child[] = [];
  #held: StoredEvent[] = [];
  /** Of a run whose start was not read, it is not known which runs it has started. */
  #isWhole = false;

  get held(): readonly StoredEvent[] {
    return this.#held;
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

  /** Whether the ticket has to wait. */
  holds(fact: StoredEvent, { run }: Pick<Commit, "run">): boolean {
    const isEarly = this.#isWhole && this.#isEarly(fact.payload["ticket"], run.runId);
    if (isEarly) this.#held.push(fact);
    return isEarly;
  }

  #isEarly(ticket: unknown, own: string): boolean {
    if (!isJsonObject(ticket) || ticket["runId"] === undefined || ticket["runId"] === own) return false;
    const path = Array.isArray(ticket["agentPath"]) ? ticket["agentPath"] : [];
    return !this.#begun.some((child) => child.runId === ticket["runId"] || isAbove(child, path));
  }

  /** One has begun: tickets that waited for it. */
  add(child: Child, { run }: Pick<Commit, "run">): readonly StoredEvent[] {
    this.#begun.push(child);
    return this.takeAll().filter((fact) => !this.holds(fact, { run }));
  }

  takeAll(): readonly StoredEvent[] {
    return this.#held.splice(0);
  }
}

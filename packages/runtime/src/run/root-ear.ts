import type { AgentEvent } from "@awaken/contract";
import type { Ear } from "../stream/listeners.ts";
import type { ActiveRun } from "./active-runs.ts";

/**
 * Hears a run whenever it goes on here, from its first word. What it says is kept until somebody wants it, and of that what it said since it
 * went on last: whoever begins to listen when he has found it at work comes too late.
 */
export class RootEar implements Ear<AgentEvent> {
  readonly #root: Pick<ActiveRun, "scopeId" | "runId">;
  readonly #told: Ear<AgentEvent>;
  #kept: AgentEvent[] | undefined = [];
  #last: ActiveRun | undefined;

  constructor(root: Pick<ActiveRun, "scopeId" | "runId">, told: Ear<AgentEvent>) {
    this.#root = root;
    this.#told = told;
  }

  readonly began = (run: ActiveRun): void => {
    if (run.scopeId !== this.#root.scopeId || run.runId !== this.#root.runId) return;
    this.#last = run;
    if (this.#kept !== undefined) this.#kept = [];
    run.listeners.add(this);
  };

  push(event: AgentEvent): void {
    if (this.#kept === undefined) this.#told.push(event);
    else this.#kept.push(event);
  }

  /** From now on it is told; `active` is the run if it is at work. */
  open(active: ActiveRun | undefined): void {
    const kept = active !== undefined && active === this.#last ? (this.#kept ?? []) : [];
    this.#kept = undefined;
    for (const event of kept) this.#told.push(event);
    if (active !== undefined && active !== this.#last) active.listeners.add(this);
  }
}

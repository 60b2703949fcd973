import { AwakenError, errorMessage, type Log } from "@awaken/contract";
import type { Batch, Update } from "../state/batch.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { StateStore } from "../state/store.ts";
import { type Bounds, isPromise } from "../stream/bounds.ts";
import { failedActions, pendingActions } from "./action-queue.ts";
import { type Command, command } from "./command.ts";
import type { HookScene, PhaseTable, Seat } from "./hook.ts";

export const nameOf = (what: string, key: string, entry: { readonly plugin: string } | undefined): string =>
  `the handler of ${what} '${key}' (plugin '${entry?.plugin ?? "none"}')`;

const isOfRun = ({ key }: Update): boolean => key.name === runLifecycle.name;

/** Turns a command into one commit and, after it, its effects. */
export class Submitter {
  failedEffects = 0;
  readonly #store: StateStore;
  readonly #seat: Seat;
  readonly #log: Log;
  readonly #bounds: Bounds;
  #lastId = 0;

  constructor(store: StateStore, seat: Seat, log: Log, bounds: Bounds) {
    this.#store = store;
    this.#seat = seat;
    this.#log = log;
    this.#bounds = bounds;
  }

  /** Commits at once; the promise, if there is one, is that of the effects. */
  submit(table: PhaseTable, given: Command): Promise<void> | undefined {
    this.#checkHandlers(table, given);
    const mayEnd = given.updates.some(isOfRun) && !this.#isDone();
    this.#store.commit(this.#batch(given));
    if (mayEnd && this.#isDone()) this.#dropPending();
    return given.effects.length === 0 ? undefined : this.#dispatch(table, given);
  }

  check(table: PhaseTable, given: Command): void {
    this.#checkHandlers(table, given);
    this.#store.check(this.#batch(given));
  }

  #checkHandlers(table: PhaseTable, given: Command): void {
    for (const { key } of given.actions) {
      if (!table.actions.has(key)) {
        throw new AwakenError("unknown_scheduled_action_handler", `no plugin handles the action '${key}'`, { details: { key } });
      }
    }
    for (const { key } of given.effects) {
      if (!table.effects.has(key)) {
        throw new AwakenError("unknown_effect_handler", `no plugin handles the effect '${key}'`, { details: { key } });
      }
    }
  }

  /** The updates, and one more that queues the actions. */
  #batch(given: Command): Batch {
    if (given.actions.length === 0) return given;
    const actions = given.actions.map((action) => ({ id: this.#nextId(), action }));
    const { updates } = command().update(pendingActions, { type: "push", actions });
    return { updates: [...given.updates, ...updates], baseRevision: given.baseRevision };
  }

  /** Above every id that a restored state holds. */
  #nextId(): number {
    if (this.#lastId === 0) {
      const state = this.#store.snapshot();
      const ids = [...(state.get(pendingActions) ?? []), ...(state.get(failedActions) ?? [])].map((entry) => entry.id);
      this.#lastId = Math.max(0, ...ids);
    }
    this.#lastId += 1;
    return this.#lastId;
  }

  #isDone(): boolean {
    return this.#store.get(runLifecycle)?.status === "done";
  }

  /** What a finished run had scheduled must not happen in the next one. What its closing phases schedule still does. */
  #dropPending(): void {
    const pending = this.#store.get(pendingActions) ?? [];
    if (pending.length > 0) this.#store.commit(command().update(pendingActions, { type: "clear" }));
  }

  async #dispatch(table: PhaseTable, given: Command): Promise<void> {
    const scene: HookScene = { ...this.#seat.scene, state: this.#store.snapshot() };
    for (const { key, payload } of given.effects) {
      const entry = table.effects.get(key);
      try {
        const done = entry?.run(payload, scene);
        // What was committed is also done after an abort, as far as the grace reaches.
        if (isPromise(done))
          await this.#bounds.wait(done, { limit: "effectMs", onAbort: "grace", name: () => nameOf("effect", key, entry) });
      } catch (thrown) {
        this.failedEffects += 1;
        this.#log.error(`effect '${key}' failed: ${errorMessage(thrown)}`);
      }
    }
  }
}

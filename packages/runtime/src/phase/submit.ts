import { AwakenError, errorMessage } from "@awaken/contract";
import type { Batch, Update } from "../state/batch.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { isPromise } from "../stream/bounds.ts";
import { failedActions, pendingActions } from "./action-queue.ts";
import { type Command, command } from "./command.ts";
import type { HookScene } from "./hook.ts";
import type { LockedEngine } from "./whole-phase-parts.ts";

export const nameOf = (what: string, key: string, entry: { readonly plugin: string } | undefined): string =>
  `the handler of ${what} '${key}' (plugin '${entry?.plugin ?? "none"}')`;

const isOfRun = ({ key }: Update): boolean => key.name === runLifecycle.name;

type SubmitterInit = Pick<LockedEngine, "store" | "table" | "seat" | "log" | "bounds">;

/** Turns a command into one commit and, after it, its effects. */
export class Submitter {
  failedEffects = 0;
  readonly #engine: SubmitterInit;
  #lastId = 0;

  constructor(engine: SubmitterInit) {
    this.#engine = engine;
  }

  /** Commits at once; the promise, if there is one, is that of the effects. */
  submit(given: Command): Promise<void> | undefined {
    this.#checkHandlers(given);
    const mayEnd = given.updates.some(isOfRun) && !this.#isDone();
    this.#engine.store.commit(this.#batch(given));
    if (mayEnd && this.#isDone()) this.#dropPending();
    return given.effects.length === 0 ? undefined : this.#dispatch(given);
  }

  check(given: Command): void {
    this.#checkHandlers(given);
    this.#engine.store.check(this.#batch(given));
  }

  #checkHandlers(given: Command): void {
    const { table } = this.#engine;
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
      const state = this.#engine.store.snapshot();
      const ids = [...(state.get(pendingActions) ?? []), ...(state.get(failedActions) ?? [])].map((entry) => entry.id);
      this.#lastId = Math.max(0, ...ids);
    }
    this.#lastId += 1;
    return this.#lastId;
  }

  #isDone(): boolean {
    return this.#engine.store.get(runLifecycle)?.status === "done";
  }

  /** What a finished run had scheduled must not happen in the next one. What its closing phases schedule still does. */
  #dropPending(): void {
    const pending = this.#engine.store.get(pendingActions) ?? [];
    if (pending.length > 0) this.#engine.store.commit(command().update(pendingActions, { type: "clear" }));
  }

  async #dispatch(given: Command): Promise<void> {
    const { table, seat, store, bounds, log } = this.#engine;
    const scene: HookScene = { ...seat.scene, state: store.snapshot() };
    for (const { key, payload } of given.effects) {
      const entry = table.effects.get(key);
      try {
        const done = entry?.run(payload, scene);
        // What was committed is also done after an abort, as far as the grace reaches.
        if (isPromise(done)) await bounds.wait(done, { limit: "effectMs", onAbort: "grace", name: () => nameOf("effect", key, entry) });
      } catch (thrown) {
        this.failedEffects += 1;
        log.error(`effect '${key}' failed: ${errorMessage(thrown)}`);
      }
    }
  }
}

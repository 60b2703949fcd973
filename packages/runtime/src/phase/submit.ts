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

/** The engine, as what it submits knows it. */
interface Submitting extends Pick<LockedEngine, "store" | "table" | "seat" | "log" | "bounds"> {
  failedEffects: number;
  /** Of the last action that was queued; 0 before the first. */
  lastActionId: number;
}

/** Turns a command into one commit and, after it, its effects. Commits at once; the promise, if there is one, is that of the effects. */
export function submit(engine: Submitting, given: Command): Promise<void> | undefined {
  checkHandlers(engine, given);
  const mayEnd = given.updates.some(isOfRun) && !isDone(engine);
  engine.store.commit(batchOf(engine, given));
  if (mayEnd && isDone(engine)) dropPending(engine);
  return given.effects.length === 0 ? undefined : dispatch(engine, given);
}

/** Throws what `submit` would throw before it commits. */
export function checkCommand(engine: Submitting, given: Command): void {
  checkHandlers(engine, given);
  engine.store.check(batchOf(engine, given));
}

function checkHandlers({ table }: Submitting, given: Command): void {
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
function batchOf(engine: Submitting, given: Command): Batch {
  if (given.actions.length === 0) return given;
  const actions = given.actions.map((action) => ({ id: nextActionId(engine), action }));
  const { updates } = command().update(pendingActions, { type: "push", actions });
  return { updates: [...given.updates, ...updates], baseRevision: given.baseRevision };
}

/** Above every id that a restored state holds. */
function nextActionId(engine: Submitting): number {
  if (engine.lastActionId === 0) {
    const { store } = engine;
    const ids = [...(store.get(pendingActions) ?? []), ...(store.get(failedActions) ?? [])].map((entry) => entry.id);
    engine.lastActionId = Math.max(0, ...ids);
  }
  engine.lastActionId += 1;
  return engine.lastActionId;
}

const isDone = ({ store }: Submitting): boolean => store.get(runLifecycle)?.status === "done";

/** What a finished run had scheduled must not happen in the next one. What its closing phases schedule still does. */
function dropPending({ store }: Submitting): void {
  const pending = store.get(pendingActions) ?? [];
  if (pending.length > 0) store.commit(command().update(pendingActions, { type: "clear" }));
}

async function dispatch(engine: Submitting, given: Command): Promise<void> {
  const { table, seat, store, bounds, log } = engine;
  const scene: HookScene = { ...seat.scene, state: store.snapshot() };
  for (const { key, payload } of given.effects) {
    const entry = table.effects.get(key);
    try {
      const done = entry?.run(payload, scene);
      // What was committed is also done after an abort, as far as the grace reaches.
      if (isPromise(done)) await bounds.wait(done, { limit: "effectMs", onAbort: "grace", name: () => nameOf("effect", key, entry) });
    } catch (thrown) {
      engine.failedEffects += 1;
      log.error(`effect '${key}' failed: ${errorMessage(thrown)}`);
    }
  }
}

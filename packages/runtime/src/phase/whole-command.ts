import { AwakenError, errorMessage } from "@awaken/contract";
import type { Batch } from "../state/batch.ts";
import { isPromise } from "../stream/bounds.ts";
import { failedActions, pendingActions } from "./action-queue.ts";
import { type Command, command } from "./command.ts";
import type { HookScene } from "./hook.ts";
import type { LockedEngine } from "./whole-phase-parts.ts";

// The part of a command that is loaded when one has actions or effects.

export const nameOf = (what: string, key: string, entry: { readonly plugin: string } | undefined): string =>
  `the handler of ${what} '${key}' (plugin '${entry?.plugin ?? "none"}')`;

/** The updates, and one more that queues the actions. Throws when nobody handles what it asks for. */
export function batchOf(engine: LockedEngine, given: Command): Batch {
  const { actions, effects } = engine.table;
  for (const { key } of given.actions) {
    if (!actions.has(key)) {
      throw new AwakenError("unknown_scheduled_action_handler", `no plugin handles the action '${key}'`, { details: { key } });
    }
  }
  for (const { key } of given.effects) {
    if (!effects.has(key)) {
      throw new AwakenError("unknown_effect_handler", `no plugin handles the effect '${key}'`, { details: { key } });
    }
  }
  if (given.actions.length === 0) return given;
  const entries = given.actions.map((action) => ({ id: nextActionId(engine), action }));
  const { updates } = command().update(pendingActions, (value) => [...value, ...entries]);
  return { updates: [...given.updates, ...updates], baseRevision: given.baseRevision };
}

/** Above every id that a restored state holds. */
function nextActionId(engine: LockedEngine): number {
  if (engine.lastActionId === 0) {
    const { store } = engine;
    const ids = [...(store.get(pendingActions) ?? []), ...(store.get(failedActions) ?? [])].map((entry) => entry.id);
    engine.lastActionId = Math.max(0, ...ids);
  }
  engine.lastActionId += 1;
  return engine.lastActionId;
}

export async function dispatch(engine: LockedEngine, effects: Command["effects"]): Promise<void> {
  const { table, seat, store, bounds, log } = engine;
  const scene: HookScene = { ...seat.scene, state: store.snapshot() };
  for (const { key, payload } of effects) {
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

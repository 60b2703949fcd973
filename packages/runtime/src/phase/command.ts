import type { HookPhase, JsonValue } from "@awaken/contract";
import { type Batch, commonBase, type Update } from "../state/batch.ts";
import type { AnyStateKey, StateKey } from "../state/key.ts";
import type { Action } from "./action.ts";
import type { Effect } from "./effect.ts";

export interface ScheduledAction {
  readonly phase: HookPhase;
  readonly key: string;
  readonly payload: JsonValue;
}

export interface EmittedEffect {
  readonly key: string;
  readonly payload: JsonValue;
}

/**
 * What hooks, action handlers and tools give back: changes of state, work to schedule, effects to emit. Nothing happens
 * until the runtime submits it, and then all of it does or none.
 */
export class Command implements Batch {
  readonly updates: Update[] = [];
  readonly actions: ScheduledAction[] = [];
  readonly effects: EmittedEffect[] = [];
  baseRevision: number | undefined;

  update<V, U>(key: StateKey<V, U>, update: NoInfer<U>): this {
    this.updates.push({ key: key as AnyStateKey, update });
    return this;
  }

  schedule<P extends JsonValue>(action: Action<P>, payload: NoInfer<P>): this {
    this.actions.push({ phase: action.phase, key: action.key, payload });
    return this;
  }

  emit<P extends JsonValue>(effect: Effect<P>, payload: NoInfer<P>): this {
    this.effects.push({ key: effect.key, payload });
    return this;
  }

  /** Refuses the command when the state has moved on from this revision. */
  from(revision: number): this {
    this.baseRevision = revision;
    return this;
  }

  get isEmpty(): boolean {
    return this.updates.length === 0 && this.actions.length === 0 && this.effects.length === 0;
  }
}

export const command = (): Command => new Command();

/** One after the other, into a new command. */
export function extendCommand(left: Command, right: Command): Command {
  const both = new Command();
  both.baseRevision = commonBase(left.baseRevision, right.baseRevision);
  both.updates.push(...left.updates, ...right.updates);
  both.actions.push(...left.actions, ...right.actions);
  both.effects.push(...left.effects, ...right.effects);
  return both;
}

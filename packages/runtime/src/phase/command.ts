import { asItIsNow, type HookPhase, type JsonValue } from "@awaken/contract";
import { type Batch, commonBase, type Update } from "../state/batch.ts";
import type { AnyStateKey, StateKey } from "../state/key.ts";
import type { Action } from "./action.ts";
import type { Effect } from "./effect.ts";

export interface ScheduledAction {
  /** The phase that it waits for. */
  readonly phase: HookPhase;
  /** Of its action. */
  readonly key: string;
  /** What the handler is given. */
  readonly payload: JsonValue;
}

export interface EmittedEffect {
  /** Of its effect. */
  readonly key: string;
  /** What the handler is given. */
  readonly payload: JsonValue;
}

function added<T>(list: T[], item: T): T[] {
  // A literal takes no more room than its item.
  if (list.length === 0) return [item];
  list.push(item);
  return list;
}

function joined<T>(left: readonly T[], right: readonly T[]): T[] {
  if (left.length === 0) return right.slice();
  return right.length === 0 ? left.slice() : [...left, ...right];
}

/**
 * What hooks, action handlers and tools give back: changes of state, work to schedule, effects to emit. Nothing happens
 * until the runtime submits it, and then all of it does or none.
 */
export class Command implements Batch {
  /** In the order in which they were added. */
  updates: Update[];
  /** In the order in which they were added. */
  actions: ScheduledAction[];
  /** In the order in which they were added. */
  effects: EmittedEffect[];
  /** The revision that it was made for, when it was told one. */
  baseRevision: number | undefined;

  constructor(updates: Update[] = [], actions: ScheduledAction[] = [], effects: EmittedEffect[] = [], baseRevision?: number) {
    this.updates = updates;
    this.actions = actions;
    this.effects = effects;
    this.baseRevision = baseRevision;
  }

  /** Changes the value of a key, through the key's `apply`. */
  update<V, U>(key: StateKey<V, U>, update: NoInfer<U>): this {
    this.updates = added(this.updates, { key: key as AnyStateKey, update });
    return this;
  }

  /** Lets an action run at its phase, once, with the payload as it is now. */
  schedule<P extends JsonValue>(action: Action<P>, payload: NoInfer<P>): this {
    this.actions = added(this.actions, { phase: action.phase, key: action.key, payload: asItIsNow(payload) });
    return this;
  }

  /** Lets an effect happen after the commit, with the payload as it is now. */
  emit<P extends JsonValue>(effect: Effect<P>, payload: NoInfer<P>): this {
    this.effects = added(this.effects, { key: effect.key, payload: asItIsNow(payload) });
    return this;
  }

  /** Refuses the command when the state has moved on from this revision. */
  from(revision: number): this {
    this.baseRevision = revision;
    return this;
  }

  /** Whether there is nothing to do. */
  get isEmpty(): boolean {
    return this.updates.length === 0 && this.actions.length === 0 && this.effects.length === 0;
  }
}

/** An empty command, to be filled: `command().update(key, change)`. */
export const command = (): Command => new Command();

/** One after the other, into a new command with this base. */
export function joinCommands(left: Command, right: Command, baseRevision: number | undefined): Command {
  const { updates, actions, effects } = left;
  return new Command(joined(updates, right.updates), joined(actions, right.actions), joined(effects, right.effects), baseRevision);
}

/** The same, for two that agree about their base. */
export const extendCommand = (left: Command, right: Command): Command =>
  joinCommands(left, right, commonBase(left.baseRevision, right.baseRevision));

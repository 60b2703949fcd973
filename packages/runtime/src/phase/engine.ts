import type { HookPhase, Log } from "@awaken/contract";
import type { Update } from "../state/batch.ts";
import { schemas } from "../state/late-schema.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { RunState } from "../state/run-state.ts";
import type { Snapshot } from "../state/snapshot.ts";
import type { Bounds } from "../stream/bounds.ts";
import { type Late, whenThere } from "../stream/door.ts";
import { failedActions, pendingActions } from "./action-queue.ts";
import { isHere } from "./called-hooks.ts";
import { type Command, command } from "./command.ts";
import { callHooks, gatherNow } from "./gather.ts";
import type { HookInput, PhaseFacts, PhaseTable, Seat } from "./hook.ts";
import { Lock } from "./lock.ts";
import { whole } from "./whole-door.ts";
import { CLOSING, type LockedEngine, type PhaseOutcome, type WholePhase } from "./whole-phase-parts.ts";

export const DEFAULT_MAX_ROUNDS = 16;

const NOTHING = command();
const OWN_KEYS = [pendingActions, failedActions];

/** Nothing but a commit. */
const isPlain = ({ actions, effects }: Command): boolean => actions.length === 0 && effects.length === 0;

const isOfRun = ({ key }: Update): boolean => key.name === runLifecycle.name;

const isDone = (store: RunState): boolean => store.get(runLifecycle)?.status === "done";

/** What a finished run had scheduled must not happen in the next one. What its closing phases schedule still does. */
function dropPending(store: RunState): void {
  const pending = store.get(pendingActions) ?? [];
  if (pending.length > 0) store.commit(command().update(pendingActions, () => []));
}

export interface PhaseEngineInit {
  readonly store: RunState;
  readonly table: PhaseTable;
  readonly seat: Seat;
  readonly log: Log;
  readonly maxRounds?: number;
  /** How long hooks and handlers may take. */
  readonly bounds: Bounds;
}

/**
 * Runs phases: gather the hooks' commands, submit them, execute the actions that are due. One thing at a time per run.
 * A phase that has nothing to do, or nothing but a commit, returns at once and makes no promise: a seventh to a third of what a run of ten
 * short steps costs.
 */
export class PhaseEngine implements LockedEngine {
  readonly store: RunState;
  readonly seat: Seat;
  readonly log: Log;
  readonly maxRounds: number;
  failedEffects = 0;
  lastActionId = 0;
  /** Made for the first phase that is waited for: most runs have none. */
  #lock: Lock | undefined;
  readonly bounds: Bounds;
  /** A handoff puts that of the next agent here. Actions of the old one stay queued until somebody handles them. */
  table: PhaseTable;

  constructor(init: PhaseEngineInit) {
    this.store = init.store;
    this.table = init.table;
    this.seat = init.seat;
    this.log = init.log;
    this.maxRounds = init.maxRounds ?? DEFAULT_MAX_ROUNDS;
    this.store.register(OWN_KEYS);
    this.bounds = init.bounds;
  }

  /**
   * The whole phase. `first` is committed in any case, together with what the hooks gather and before it: hooks that would change
   * the same exclusive key run again afterwards and see it.
   */
  run<P extends HookPhase>(phase: P, facts: PhaseFacts[P], first?: Command): PhaseOutcome | Promise<PhaseOutcome> {
    if (this.isCancelled(phase)) return first === undefined ? "cancelled" : this.#submitCancelled(first);
    if (this.#lock?.isTaken === true || this.#hasDue(phase)) return this.#wait(phase, facts, first, undefined);
    const entries = this.table.hooks[phase];
    if (entries.length === 0)
      return first === undefined ? "completed" : (this.#tryNow(first) ?? this.#wait(phase, facts, first, undefined));
    const called = callHooks(this.store, entries, this.inputs(phase, facts));
    const gathered = gatherNow(this.store, called, first ?? NOTHING);
    const outcome = gathered === undefined ? undefined : this.#tryNow(gathered);
    if (outcome !== undefined && this.isCancelled(phase)) return "cancelled";
    return outcome ?? this.#wait(phase, facts, first, called);
  }

  /** Without a promise, when nothing but a commit is to be done. What the hooks gave may be refused, `first` must stand: that way is longer. */
  #tryNow(given: Command): PhaseOutcome | undefined {
    if (given.isEmpty) return "completed";
    // Values of others are looked through by a part that the longer way loads.
    if (!isPlain(given) || (schemas.room === undefined && given.updates.some(({ key }) => !key.trusted))) return undefined;
    try {
      this.submitNow(given);
    } catch {
      return undefined;
    }
    return "completed";
  }

  /** What already happened is recorded, abort or not. */
  async #submitCancelled(first: Command): Promise<PhaseOutcome> {
    await this.submit(first);
    return "cancelled";
  }

  /** The phase has more to do than a commit: hooks to wait for, or actions. */
  #wait<P extends HookPhase>(...asked: WholePhase<P>): Promise<PhaseOutcome> {
    return this.#alone(() => whole.room?.runWhole(this, ...asked) ?? this.#load(asked));
  }

  /** Hooks that were called may fail before it is there: that is told then. What already happened is recorded also when it cannot be loaded. */
  async #load<P extends HookPhase>(asked: WholePhase<P>): Promise<PhaseOutcome> {
    const [, , first, called] = asked;
    for (const given of called?.given ?? []) if (!isHere(given)) given.catch(() => {});
    let room: Awaited<ReturnType<typeof whole.open>>;
    try {
      room = await whole.open();
    } catch (thrown) {
      if (first !== undefined) await this.submitNow(first);
      throw thrown;
    }
    return room.runWhole(this, ...asked);
  }

  /** Validates, commits once, then dispatches the effects. */
  submit(given: Command): Promise<void> {
    return this.#alone(async () => {
      if (!isPlain(given) && whole.room === undefined) await whole.open();
      await this.submitNow(given);
    });
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    this.#lock ??= new Lock();
    return this.#lock.run(work);
  }

  /**
   * The same, for whoever has the lock, and has loaded what is needed for actions and effects. Commits at once; the promise, if there is
   * one, is that of the effects.
   */
  submitNow(given: Command): Promise<void> | undefined {
    const { store } = this;
    const batch = isPlain(given) ? given : whole.here.batchOf(this, given);
    const mayEnd = given.updates.some(isOfRun) && !isDone(store);
    store.commit(batch);
    if (mayEnd && isDone(store)) dropPending(store);
    return given.effects.length === 0 ? undefined : whole.here.dispatch(this, given.effects);
  }

  /** Throws what `submit` would throw before it commits. */
  check(given: Command): Late<void> {
    if (isPlain(given)) return this.store.check(given);
    return whenThere(whole.open(), ({ batchOf }) => this.store.check(batchOf(this, given)));
  }

  inputs<P extends HookPhase>(phase: P, facts: PhaseFacts[P]) {
    return (state: Snapshot): HookInput<P> => {
      const { agent, scopeId, identity, principal, extras, messages, tools, signal, clock, profile } = this.seat.scene;
      const scene = { agent, scopeId, identity, principal, extras, messages, tools, signal, clock, profile, state, phase };
      return Object.assign(scene, facts);
    };
  }

  isCancelled(phase: HookPhase): boolean {
    return this.seat.scene.signal.aborted && !CLOSING.has(phase);
  }

  #hasDue(phase: HookPhase): boolean {
    const pending = this.store.get(pendingActions);
    return pending?.some(({ action }) => action.phase === phase && this.table.actions.has(action.key)) ?? false;
  }
}

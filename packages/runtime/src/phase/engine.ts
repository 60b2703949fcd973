import { AwakenError, errorMessage, type HookPhase, type Log, type QueuedAction } from "@awaken/contract";
import type { Snapshot } from "../state/snapshot.ts";
import type { StateStore } from "../state/store.ts";
import { Bounds, DEFAULT_LIMITS, isPromise, type OnAbort } from "../stream/bounds.ts";
import { failedActions, pendingActions } from "./action-queue.ts";
import { Command, command, extendCommand } from "./command.ts";
import { callHooks, gather, gatherNow, rerun } from "./gather.ts";
import type { ActionEntry, HookInput, HookScene, PhaseFacts, PhaseTable, RunScene, Seat } from "./hook.ts";
import { Lock } from "./lock.ts";
import { nameOf, Submitter } from "./submit.ts";

export const DEFAULT_MAX_ROUNDS = 16;
const GRACE_MS = 30_000;

/** These close what was begun, so they run also after an abort. */
const CLOSING: ReadonlySet<HookPhase> = new Set<HookPhase>(["stepEnd", "runEnd"]);

const onAbort = (phase: HookPhase): OnAbort => (CLOSING.has(phase) ? "grace" : "finish");

const defaultBounds = ({ signal, clock }: RunScene): Bounds =>
  new Bounds(signal, { clock, limits: DEFAULT_LIMITS, cancelGraceMs: GRACE_MS });

const NOTHING = command();
const OWN_KEYS = [pendingActions, failedActions];

export type PhaseOutcome = "completed" | "cancelled";

export interface PhaseEngineInit {
  readonly store: StateStore;
  readonly table: PhaseTable;
  readonly seat: Seat;
  readonly log: Log;
  readonly maxRounds?: number;
  /** How long hooks and handlers may take. Default: the default limits, and half a minute after an abort. */
  readonly bounds?: Bounds;
}

/**
 * Runs phases: gather the hooks' commands, submit them, execute the actions that are due. One thing at a time per run.
 * A phase that has nothing to do, or nothing but a commit, returns at once and makes no promise: a seventh to a third of what a run of ten
 * short steps costs.
 */
export class PhaseEngine {
  readonly #store: StateStore;
  readonly #seat: Seat;
  readonly #log: Log;
  readonly #maxRounds: number;
  readonly #lock = new Lock();
  readonly #submitter: Submitter;
  readonly #bounds: Bounds;
  #table: PhaseTable;

  constructor(init: PhaseEngineInit) {
    this.#store = init.store;
    this.#table = init.table;
    this.#seat = init.seat;
    this.#log = init.log;
    this.#maxRounds = init.maxRounds ?? DEFAULT_MAX_ROUNDS;
    this.#store.register(OWN_KEYS);
    this.#bounds = init.bounds ?? defaultBounds(init.seat.scene);
    this.#submitter = new Submitter(init.store, init.seat, init.log, this.#bounds);
  }

  get failedEffects(): number {
    return this.#submitter.failedEffects;
  }

  /** The plugins of the next agent, after a handoff. Actions of the old ones stay queued until somebody handles them. */
  setTable(table: PhaseTable): void {
    this.#table = table;
  }

  /**
   * The whole phase. `first` is committed in any case, together with what the hooks gather and before it: hooks that would change
   * the same exclusive key run again afterwards and see it.
   */
  run<P extends HookPhase>(phase: P, facts: PhaseFacts[P], first?: Command): PhaseOutcome | Promise<PhaseOutcome> {
    if (this.#isCancelled(phase)) return first === undefined ? "cancelled" : this.#submitCancelled(first);
    if (this.#lock.isTaken || this.#hasDue(phase)) return this.#lock.run(() => this.#runLocked(phase, facts, first));
    const entries = this.#table.hooks[phase];
    if (entries.length === 0) return this.#submitNow(first) ?? this.#lock.run(() => this.#runLocked(phase, facts, first));
    const called = callHooks(this.#store, entries, this.#inputs(phase, facts));
    const whole = gatherNow(this.#store, called, first ?? NOTHING);
    const outcome = whole === undefined ? undefined : this.#submitNow(whole);
    if (outcome !== undefined && this.#isCancelled(phase)) return "cancelled";
    return outcome ?? this.#lock.run(() => this.#runLocked(phase, facts, first, called));
  }

  /** Without a promise, when nothing but a commit is to be done. What the hooks gave may be refused, `first` must stand: that way is longer. */
  #submitNow(given: Command | undefined): PhaseOutcome | undefined {
    if (given === undefined || given.isEmpty) return "completed";
    if (given.actions.length > 0 || given.effects.length > 0) return undefined;
    try {
      this.#submitter.submit(this.#table, given);
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

  /** Validates, commits once, then dispatches the effects. */
  submit(given: Command): Promise<void> {
    return this.#lock.run(async () => this.#submitter.submit(this.#table, given));
  }

  /** Throws what `submit` would throw before it commits. */
  check(given: Command): void {
    this.#submitter.check(this.#table, given);
  }

  async #runLocked<P extends HookPhase>(
    phase: P,
    facts: PhaseFacts[P],
    first: Command | undefined,
    called = callHooks(this.#store, this.#table.hooks[phase], this.#inputs(phase, facts)),
  ): Promise<PhaseOutcome> {
    const inputs = this.#inputs(phase, facts);
    const submit = (given: Command) => this.#submitter.submit(this.#table, given);
    const patience = { bounds: this.#bounds, onAbort: onAbort(phase) };
    const { deferred, left } = await gather(this.#store, called, first ?? command(), submit, patience);
    for (const entry of deferred) {
      if (this.#isCancelled(phase)) return "cancelled";
      await rerun(this.#store, entry, inputs, submit, patience);
    }
    if (this.#isCancelled(phase)) return "cancelled";
    if (left.length > 0)
      this.#log.warn(`hooks of ${left.join(", ")} in ${phase} did not end in time after the cancel and were left behind`);
    await this.#execute(phase);
    return this.#isCancelled(phase) ? "cancelled" : "completed";
  }

  #inputs<P extends HookPhase>(phase: P, facts: PhaseFacts[P]) {
    return (state: Snapshot): HookInput<P> => {
      const { agent, scopeId, identity, principal, extras, messages, tools, signal, clock, profile } = this.#seat.scene;
      const scene = { agent, scopeId, identity, principal, extras, messages, tools, signal, clock, profile };
      const own: RunScene & { state: Snapshot; phase: P } = Object.assign(scene, { state, phase });
      return Object.assign(own, facts);
    };
  }

  #hookScene(): HookScene {
    return { ...this.#seat.scene, state: this.#store.snapshot() };
  }

  #isCancelled(phase: HookPhase): boolean {
    return !CLOSING.has(phase) && this.#seat.scene.signal.aborted;
  }

  #due(phase: HookPhase): readonly QueuedAction[] {
    const pending = this.#store.snapshot().get(pendingActions) ?? [];
    return pending.filter(({ action }) => action.phase === phase && this.#table.actions.has(action.key));
  }

  #hasDue(phase: HookPhase): boolean {
    const pending = this.#store.snapshot().get(pendingActions);
    return pending?.some(({ action }) => action.phase === phase && this.#table.actions.has(action.key)) ?? false;
  }

  #isPending(id: number): boolean {
    return (
      this.#store
        .snapshot()
        .get(pendingActions)
        ?.some((entry) => entry.id === id) ?? false
    );
  }

  /** Rounds of due actions, one action after the other, until a round finds none. */
  async #execute(phase: HookPhase): Promise<void> {
    for (let round = 1; ; round++) {
      if (round > this.#maxRounds) {
        throw new AwakenError(
          "phase_run_loop_exceeded",
          `actions of phase ${phase} did not come to rest within ${this.#maxRounds} rounds`,
          {
            details: { phase, maxRounds: this.#maxRounds },
          },
        );
      }
      const due = this.#due(phase);
      if (due.length === 0) return;
      // An action before it may have ended the run, and with that dropped what was due.
      for (const entry of due) {
        if (this.#isCancelled(phase)) return;
        if (this.#isPending(entry.id)) await this.#executeOne(entry, phase);
      }
    }
  }

  #handle({ action }: QueuedAction, phase: HookPhase): ReturnType<ActionEntry["run"]> {
    const entry = this.#table.actions.get(action.key);
    const given = entry?.run(action.payload, this.#hookScene());
    if (!isPromise(given)) return given;
    const name = () => nameOf("action", action.key, entry);
    return this.#bounds.wait(given, { limit: "actionMs", onAbort: onAbort(phase), name });
  }

  async #executeOne(entry: QueuedAction, phase: HookPhase): Promise<void> {
    const done = () => command().update(pendingActions, { type: "remove", id: entry.id });
    const fail = (error: string) => {
      this.#log.warn(`action '${entry.action.key}' failed: ${error}`);
      return this.#submitter.submit(this.#table, done().update(failedActions, { ...entry, error }));
    };
    let result: Command | undefined | void;
    try {
      result = await this.#handle(entry, phase);
    } catch (thrown) {
      // It stays queued, for as long as the run has to live.
      if (this.#isCancelled(phase)) return;
      return fail(errorMessage(thrown));
    }
    try {
      const whole = result instanceof Command ? extendCommand(result, done()) : done();
      await this.#submitter.submit(this.#table, whole);
    } catch (thrown) {
      await fail(`failed to submit action command: ${errorMessage(thrown)}`);
    }
  }
}

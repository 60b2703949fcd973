import { AwakenError, errorMessage, type HookPhase, type QueuedAction } from "@awaken/contract";
import { isPromise, type OnAbort } from "../stream/bounds.ts";
import { failedActions, pendingActions } from "./action-queue.ts";
import { Command, command, extendCommand } from "./command.ts";
import { callHooks } from "./gather.ts";
import { gather, rerun } from "./gather-late.ts";
import type { ActionEntry } from "./hook.ts";
import { nameOf } from "./whole-command.ts";
import { CLOSING, type LockedEngine, type PhaseOutcome, type WholePhase } from "./whole-phase-parts.ts";

export { batchOf, dispatch } from "./whole-command.ts";

// The part of a phase that is loaded when one has more to do than a commit.

const onAbort = (phase: HookPhase): OnAbort => (CLOSING.has(phase) ? "grace" : "finish");

/** A phase whose hooks have to be waited for or run again, or that has actions to execute. Nothing else runs meanwhile. */
export async function runWhole<P extends HookPhase>(
  engine: LockedEngine,
  ...[phase, facts, first, before]: WholePhase<P>
): Promise<PhaseOutcome> {
  const { store, bounds, log } = engine;
  const inputs = engine.inputs(phase, facts);
  const called = before ?? callHooks(store, engine.table.hooks[phase], inputs);
  const submit = (given: Command) => engine.submitNow(given);
  const patience = { bounds, onAbort: onAbort(phase) };
  const { deferred, left } = await gather(store, called, first ?? command(), submit, patience);
  for (const entry of deferred) {
    if (engine.isCancelled(phase)) return "cancelled";
    await rerun(store, entry, inputs, submit, patience);
  }
  if (engine.isCancelled(phase)) return "cancelled";
  if (left.length > 0) log.warn(`hooks of ${left.join(", ")} in ${phase} did not end in time after the cancel and were left behind`);
  await execute(engine, phase);
  return engine.isCancelled(phase) ? "cancelled" : "completed";
}

const pendingOf = ({ store }: LockedEngine): readonly QueuedAction[] => store.get(pendingActions) ?? [];

/** Rounds of due actions, one action after the other, until a round finds none. */
async function execute(engine: LockedEngine, phase: HookPhase): Promise<void> {
  const { maxRounds } = engine;
  for (let round = 1; ; round++) {
    if (round > maxRounds) {
      throw new AwakenError("phase_run_loop_exceeded", `actions of phase ${phase} did not come to rest within ${maxRounds} rounds`, {
        details: { phase, maxRounds },
      });
    }
    const due = pendingOf(engine).filter(({ action }) => action.phase === phase && engine.table.actions.has(action.key));
    if (due.length === 0) return;
    // An action before it may have ended the run, and with that dropped what was due.
    for (const entry of due) {
      if (engine.isCancelled(phase)) return;
      if (pendingOf(engine).some(({ id }) => id === entry.id)) await executeOne(engine, entry, phase);
    }
  }
}

function handle({ table, seat, store, bounds }: LockedEngine, { action }: QueuedAction, phase: HookPhase): ReturnType<ActionEntry["run"]> {
  const entry = table.actions.get(action.key);
  const given = entry?.run(action.payload, { ...seat.scene, state: store.snapshot() });
  if (!isPromise(given)) return given;
  const name = () => nameOf("action", action.key, entry);
  return bounds.wait(given, { limit: "actionMs", onAbort: onAbort(phase), name });
}

async function executeOne(engine: LockedEngine, entry: QueuedAction, phase: HookPhase): Promise<void> {
  const done = () => command().update(pendingActions, (value) => value.filter(({ id }) => id !== entry.id));
  const fail = (error: string) => {
    engine.log.warn(`action '${entry.action.key}' failed: ${error}`);
    return engine.submitNow(done().update(failedActions, { ...entry, error }));
  };
  let result: Command | undefined | void;
  try {
    result = await handle(engine, entry, phase);
  } catch (thrown) {
    // It stays queued, for as long as the run has to live.
    if (engine.isCancelled(phase)) return;
    return fail(errorMessage(thrown));
  }
  try {
    const all = result instanceof Command ? extendCommand(result, done()) : done();
    await engine.submitNow(all);
  } catch (thrown) {
    await fail(`failed to submit action command: ${errorMessage(thrown)}`);
  }
}

import { AwakenError, type HookPhase } from "@awaken/contract";
import type { RunState } from "../state/run-state.ts";
import { awaitHooks, type Patience, workOf } from "./await-hooks.ts";
import { type CalledHooks, isHere } from "./called-hooks.ts";
import type { Command } from "./command.ts";
import { behind, call, type InputOf, isStale, NOTHING, partition } from "./gather.ts";
import type { HookEntry } from "./hook.ts";

/** How often a hook is run again because somebody else committed meanwhile. */
const MAX_RERUNS = 8;

/** Commits synchronously; the promise is that of the effects. */
type Submit = (given: Command) => Promise<void> | undefined;

/** The hooks that have to run again, and the plugins whose hooks were left behind. */
interface Gathering<P extends HookPhase> {
  readonly deferred: readonly HookEntry<P>[];
  readonly left: readonly string[];
}

/**
 * Submits, together with `first`, what does not conflict with it or with an earlier hook.
 * Gives back the hooks that lost a conflict: each is to run again, alone, on what is there by then. What the hooks do wrong
 * fails the phase, but `first` is submitted even then: it already happened.
 */
export async function gather<P extends HookPhase>(
  store: RunState,
  called: CalledHooks<P>,
  first: Command,
  submit: Submit,
  patience: Patience,
): Promise<Gathering<P>> {
  let effects: Promise<void> | undefined;
  let gathering: Gathering<P>;
  try {
    const { given, left } = await awaitHooks(called, patience);
    const gathered = partition(store, called.entries, given, first, called.revision);
    effects = submit(gathered.whole);
    gathering = { deferred: gathered.deferred, left };
  } catch (thrown) {
    await submit(first);
    throw thrown;
  }
  await effects;
  return gathering;
}

/** One hook alone, again and again until nobody commits its keys while it runs. */
export async function rerun<P extends HookPhase>(
  store: RunState,
  entry: HookEntry<P>,
  inputOf: InputOf<P>,
  submit: Submit,
  { bounds, onAbort }: Patience,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const snapshot = store.snapshot();
    const input = inputOf(snapshot);
    const called = call(entry, input, snapshot.revision);
    const given = isHere(called)
      ? called
      : await bounds.wait(
          called,
          workOf(input.phase, onAbort, () => [entry.plugin]),
        );
    if (given === undefined) return;
    if (!isStale(store, given, snapshot.revision)) {
      await submit(behind(NOTHING, given, snapshot.revision));
      return;
    }
    if (attempt === MAX_RERUNS) throw lost(entry.plugin, snapshot.revision, store.revision);
  }
}

const lost = (plugin: string, expected: number, actual: number): AwakenError =>
  new AwakenError("revision_conflict", `hook of plugin '${plugin}' lost against other commits ${MAX_RERUNS} times`, {
    details: { plugin, expected, actual },
  });

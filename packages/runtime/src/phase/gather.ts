import { AwakenError, errorMessage, type HookPhase } from "@awaken/contract";
import { commonBase, type Update } from "../state/batch.ts";
import { conflictingKey } from "../state/merge.ts";
import type { RunState } from "../state/run-state.ts";
import type { Snapshot } from "../state/snapshot.ts";
import { isPromise } from "../stream/bounds.ts";
import { type CalledHooks, type Given, isHere } from "./called-hooks.ts";
import { Command, extendCommand, joinCommands } from "./command.ts";
import type { HookEntry, HookInput } from "./hook.ts";

export type InputOf<P extends HookPhase> = (state: Snapshot) => HookInput<P>;

const failed = (plugin: string, phase: HookPhase, cause: unknown): AwakenError =>
  new AwakenError("hook_failed", `hook of plugin '${plugin}' failed in ${phase}: ${errorMessage(cause)}`, {
    cause,
    details: { plugin, phase },
  });

export const NOTHING = new Command();

/** A copy, because the hook may hand out the same command again. */
function stamped(result: Command | undefined | void, revision: number): Command | undefined {
  if (!(result instanceof Command) || result.isEmpty) return undefined;
  const { updates, actions, effects, baseRevision = revision } = result;
  return new Command(updates.slice(), actions.slice(), effects.slice(), baseRevision);
}

export function call<P extends HookPhase>(entry: HookEntry<P>, input: HookInput<P>, revision: number): Given {
  const { plugin, hook } = entry;
  try {
    const result = hook(input);
    if (!isPromise(result)) return stamped(result, revision);
    return Promise.resolve(result).then(
      (command) => stamped(command, revision),
      (cause: unknown) => {
        throw failed(plugin, input.phase, cause);
      },
    );
  } catch (cause) {
    return Promise.reject(failed(plugin, input.phase, cause));
  }
}

/** Calls all hooks on one snapshot. */
export function callHooks<P extends HookPhase>(store: RunState, entries: readonly HookEntry<P>[], inputOf: InputOf<P>): CalledHooks<P> {
  const snapshot = store.snapshot();
  const input = inputOf(snapshot);
  const given: Given[] = [];
  for (const entry of entries) given.push(call(entry, input, snapshot.revision));
  return { entries, given, revision: snapshot.revision, phase: input.phase };
}

const isExclusive = (store: RunState, { key }: Update): boolean => store.mergeRule(key.name) === "exclusive";

/** Somebody committed one of its exclusive keys after the hook had read them. */
export function isStale(store: RunState, given: Command, revision: number): boolean {
  if (given.baseRevision !== revision || store.revision === revision) return false;
  return given.updates.some((update) => isExclusive(store, update) && store.isChangedSince(update.key.name, revision));
}

/** Both update an exclusive key. */
const isClashing = (store: RunState, left: Command, right: Command): boolean =>
  conflictingKey(left, right, (key) => store.mergeRule(key)) !== undefined;

/** `first`, then what hooks gave. Checked key by key, the revision of the whole store that they saw means nothing any more. */
export function behind(first: Command, given: Command, revision: number): Command {
  const base = given.baseRevision === revision ? first.baseRevision : commonBase(first.baseRevision, given.baseRevision);
  return first.isEmpty ? new Command(given.updates, given.actions, given.effects, base) : joinCommands(first, given, base);
}

/** What fits together of the hooks' commands, and the hooks that have to run again. */
interface Gathered<P extends HookPhase> {
  readonly whole: Command;
  readonly deferred: readonly HookEntry<P>[];
}

export function partition<P extends HookPhase>(
  store: RunState,
  entries: readonly HookEntry<P>[],
  given: readonly (Command | undefined)[],
  first: Command,
  revision: number,
): Gathered<P> {
  const deferred: HookEntry<P>[] = [];
  let whole: Command | undefined;
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index];
    const one = given[index];
    if (entry === undefined || one === undefined) continue;
    if (isStale(store, one, revision) || isClashing(store, first, one) || (whole !== undefined && isClashing(store, whole, one)))
      deferred.push(entry);
    else whole = whole === undefined ? one : extendCommand(whole, one);
  }
  return { whole: whole === undefined ? first : behind(first, whole, revision), deferred };
}

/** All at once, if no hook had to wait, none has to run again and nothing remains to be done. Otherwise undefined, and nothing happened. */
export function gatherNow<P extends HookPhase>(store: RunState, called: CalledHooks<P>, first: Command): Command | undefined {
  const { entries, given, revision } = called;
  if (!given.every(isHere)) return undefined;
  const { whole, deferred } = partition(store, entries, given, first, revision);
  return deferred.length === 0 && whole.actions.length === 0 && whole.effects.length === 0 ? whole : undefined;
}

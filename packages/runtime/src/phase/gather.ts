import { AwakenError, errorMessage, type HookPhase } from "@awaken/contract";
import { touchedKeys } from "../state/batch.ts";
import type { Snapshot } from "../state/snapshot.ts";
import type { StateStore } from "../state/store.ts";
import { Command, extendCommand } from "./command.ts";
import type { HookEntry, HookInput } from "./hook.ts";

/** How often a hook is run again because somebody else committed meanwhile. */
const MAX_RERUNS = 8;

type InputOf<P extends HookPhase> = (state: Snapshot) => HookInput<P>;

const failed = (plugin: string, phase: HookPhase, cause: unknown): AwakenError =>
  new AwakenError("hook_failed", `hook of plugin '${plugin}' failed in ${phase}: ${errorMessage(cause)}`, {
    cause,
    details: { plugin, phase },
  });

/** A copy, because the hook may hand out the same command again. */
function stamped(result: Command | undefined | void, revision: number): Command | undefined {
  if (!(result instanceof Command) || result.isEmpty) return undefined;
  const copy = extendCommand(new Command(), result);
  copy.baseRevision ??= revision;
  return copy;
}

/** What a hook gave, or will give. A hook that does not wait costs no promise. */
type Given = Command | undefined | Promise<Command | undefined>;

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";

function call<P extends HookPhase>(entry: HookEntry<P>, input: HookInput<P>, revision: number): Given {
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
export function callHooks<P extends HookPhase>(store: StateStore, entries: readonly HookEntry<P>[], inputOf: InputOf<P>): CalledHooks<P> {
  const snapshot = store.snapshot();
  const input = inputOf(snapshot);
  const given = entries.map((entry) => call(entry, input, snapshot.revision));
  return { entries, given, revision: snapshot.revision };
}

export interface CalledHooks<P extends HookPhase> {
  readonly entries: readonly HookEntry<P>[];
  readonly given: readonly Given[];
  readonly revision: number;
}

const isHere = (given: Given): given is Command | undefined => !isPromise(given);

const exclusiveKeys = (store: StateStore, given: Command): string[] =>
  touchedKeys(given).filter((key) => store.mergeRule(key) === "exclusive");

/** Somebody committed one of its exclusive keys after the hook had read them. */
const isStale = (store: StateStore, given: Command, revision: number): boolean =>
  given.baseRevision === revision && exclusiveKeys(store, given).some((key) => store.isChangedSince(key, revision));

/** Checked key by key, the revision of the whole store means nothing any more. */
function settleBase(given: Command, revision: number): Command {
  if (given.baseRevision !== revision) return given;
  const settled = extendCommand(new Command(), given);
  settled.baseRevision = undefined;
  return settled;
}

/** Commits synchronously; the promise is that of the effects. */
type Submit = (given: Command) => Promise<void> | undefined;

/** What fits together of the hooks' commands, and the hooks that have to run again. */
interface Gathered<P extends HookPhase> {
  readonly whole: Command;
  readonly deferred: readonly HookEntry<P>[];
}

function partition<P extends HookPhase>(
  store: StateStore,
  entries: readonly HookEntry<P>[],
  given: readonly (Command | undefined)[],
  first: Command,
  revision: number,
): Gathered<P> {
  const claimed = new Set(exclusiveKeys(store, first));
  const deferred: HookEntry<P>[] = [];
  let whole: Command | undefined;
  for (const [index, entry] of entries.entries()) {
    const one = given[index];
    if (one === undefined) continue;
    const keys = exclusiveKeys(store, one);
    if (isStale(store, one, revision) || keys.some((key) => claimed.has(key))) {
      deferred.push(entry);
      continue;
    }
    for (const key of keys) claimed.add(key);
    whole = whole === undefined ? one : extendCommand(whole, one);
  }
  return { whole: whole === undefined ? first : extendCommand(first, settleBase(whole, revision)), deferred };
}

/** Every hook has ended when this throws, with the first failure in their order. */
async function awaitAll(given: readonly Given[]): Promise<readonly (Command | undefined)[]> {
  const settled = await Promise.allSettled(given);
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** All at once, if no hook had to wait, none has to run again and nothing remains to be done. Otherwise undefined, and nothing happened. */
export function gatherNow<P extends HookPhase>(store: StateStore, called: CalledHooks<P>, first: Command): Command | undefined {
  const { entries, given, revision } = called;
  if (!given.every(isHere)) return undefined;
  const { whole, deferred } = partition(store, entries, given, first, revision);
  return deferred.length === 0 && whole.actions.length === 0 && whole.effects.length === 0 ? whole : undefined;
}

/**
 * Submits, together with `first`, what does not conflict with it or with an earlier hook.
 * Gives back the hooks that lost a conflict: each is to run again, alone, on what is there by then. What the hooks do wrong
 * fails the phase, but `first` is submitted even then: it already happened.
 */
export async function gather<P extends HookPhase>(
  store: StateStore,
  called: CalledHooks<P>,
  first: Command,
  submit: Submit,
): Promise<readonly HookEntry<P>[]> {
  let effects: Promise<void> | undefined;
  let deferred: readonly HookEntry<P>[];
  try {
    const given = await awaitAll(called.given);
    const gathered = partition(store, called.entries, given, first, called.revision);
    effects = submit(gathered.whole);
    deferred = gathered.deferred;
  } catch (thrown) {
    await submit(first);
    throw thrown;
  }
  await effects;
  return deferred;
}

/** One hook alone, again and again until nobody commits its keys while it runs. */
export async function rerun<P extends HookPhase>(
  store: StateStore,
  entry: HookEntry<P>,
  inputOf: InputOf<P>,
  submit: Submit,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const snapshot = store.snapshot();
    const given = await call(entry, inputOf(snapshot), snapshot.revision);
    if (given === undefined) return;
    if (!isStale(store, given, snapshot.revision)) {
      await submit(settleBase(given, snapshot.revision));
      return;
    }
    if (attempt === MAX_RERUNS) throw lost(entry.plugin, snapshot.revision, store.revision);
  }
}

const lost = (plugin: string, expected: number, actual: number): AwakenError =>
  new AwakenError("revision_conflict", `hook of plugin '${plugin}' lost against other commits ${MAX_RERUNS} times`, {
    details: { plugin, expected, actual },
  });

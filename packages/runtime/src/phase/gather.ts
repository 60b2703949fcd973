import { AwakenError, errorMessage, type HookPhase } from "@awaken/contract";
import { touchedKeys } from "../state/batch.ts";
import type { Snapshot } from "../state/snapshot.ts";
import type { StateStore } from "../state/store.ts";
import { Command, extendCommand } from "./command.ts";
import type { HookEntry, HookInput } from "./hook.ts";

/** How often a hook is run again because somebody else committed meanwhile. */
const MAX_RERUNS = 8;

type InputOf<P extends HookPhase> = (state: Snapshot) => HookInput<P>;

async function call<P extends HookPhase>(entry: HookEntry<P>, input: HookInput<P>, revision: number): Promise<Command | undefined> {
  let result: Command | undefined | void;
  try {
    result = await entry.hook(input);
  } catch (cause) {
    throw new AwakenError("hook_failed", `hook of plugin '${entry.plugin}' failed in ${input.phase}: ${errorMessage(cause)}`, {
      cause,
      details: { plugin: entry.plugin, phase: input.phase },
    });
  }
  if (!(result instanceof Command) || result.isEmpty) return undefined;
  // A copy: the hook may hand out the same command again.
  const stamped = extendCommand(new Command(), result);
  stamped.baseRevision ??= revision;
  return stamped;
}

const exclusiveKeys = (store: StateStore, given: Command): string[] =>
  touchedKeys(given).filter((key) => store.mergeRule(key) === "exclusive");

/** Somebody committed one of its exclusive keys after the hook had read them. */
const isStale = (store: StateStore, given: Command, revision: number): boolean =>
  given.baseRevision === revision && exclusiveKeys(store, given).some((key) => store.isChangedSince(key, revision));

/** Checked key by key, the revision of the whole store means nothing any more. */
function settleBase(given: Command, revision: number): Command {
  if (given.baseRevision === revision) given.baseRevision = undefined;
  return given;
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
async function callAll<P extends HookPhase>(entries: readonly HookEntry<P>[], input: HookInput<P>, revision: number) {
  const settled = await Promise.allSettled(entries.map((entry) => call(entry, input, revision)));
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/**
 * Runs all hooks on one snapshot and submits, together with `first`, what does not conflict with it or with an earlier hook.
 * Gives back the hooks that lost a conflict: each is to run again, alone, on what is there by then. What the hooks do wrong
 * fails the phase, but `first` is submitted even then: it already happened.
 */
export async function gather<P extends HookPhase>(
  store: StateStore,
  entries: readonly HookEntry<P>[],
  inputOf: InputOf<P>,
  first: Command,
  submit: Submit,
): Promise<readonly HookEntry<P>[]> {
  const snapshot = store.snapshot();
  let effects: Promise<void> | undefined;
  let deferred: readonly HookEntry<P>[];
  try {
    const given = await callAll(entries, inputOf(snapshot), snapshot.revision);
    const gathered = partition(store, entries, given, first, snapshot.revision);
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

import type { ThreadCommit } from "./commit.ts";

/** Is what it is given, so that the private field of a class above it comes to be on that. */
class Given {
  constructor(commit: ThreadCommit) {
    // biome-ignore lint/correctness/noConstructorReturn: the one way to mark an object that costs neither a table nor a copy of it.
    return commit;
  }
}

/**
 * Commits that the runtime's own writer composed: their run, events, state, messages, ledger rows and the dispatch that they claim belong
 * to nobody who could change them, and are handed over: a store does not copy them again, and checks none of them but messages. A commit
 * that is put together in any other way is not one, whatever fields it has, and a copy of one is none either.
 */
class Composed extends Given {
  readonly #mark = true;

  /** A store is also called by plain JavaScript, with anything. */
  static readonly isOn = (commit: ThreadCommit): boolean => Object(commit) === commit && #mark in commit;
}

/** For the one who writes the commits of runs, and vouches for what they hold: `scripts/layer-rules.ts` lets nobody else have it. */
export function composedCommit(parts: ThreadCommit): ThreadCommit {
  new Composed(parts);
  return parts;
}

/** Whether run, events, state, messages and ledger rows are handed over: a store may keep them as they are. */
export const isComposed = Composed.isOn;

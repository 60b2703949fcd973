import type { ThreadCommit } from "./commit.ts";

/** What is made of it is the object itself, so that a private field of whoever extends it marks that object and no copy is made. */
class Itself {
  constructor(marked: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the field is for what was handed in.
    return marked;
  }
}

/**
 * A commit that the runtime's own writer composed: its run, events, state and ledger rows were checked where they came in, belong to
 * nobody who could change them, and are handed over. A store neither checks nor copies them again. A commit that is put together in any
 * other way is not one, whatever fields it has, and a copy of one is none either.
 */
class ComposedCommit extends Itself {
  readonly #isComposed = true;

  static is(commit: ThreadCommit): boolean {
    return #isComposed in commit;
  }
}

/** For the one who writes the commits of runs, and vouches for what they hold: `scripts/layer-rules.ts` lets nobody else have it. */
export function composedCommit(parts: ThreadCommit): ThreadCommit {
  new ComposedCommit(parts);
  return parts;
}

/** Whether run, events, state and ledger rows are handed over: a store may keep them as they are. */
export const isComposed = (commit: ThreadCommit): boolean => ComposedCommit.is(commit);

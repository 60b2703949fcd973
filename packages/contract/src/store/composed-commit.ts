import type { ThreadCommit } from "./commit.ts";

/** Nobody who was given a commit can make another with its constructor. */
const WRITER = Symbol("writer");

/**
 * A commit that the runtime's own writer composed: its run, events, state and ledger rows were checked where they came in, belong to
 * nobody who could change them, and are handed over. A store neither checks nor copies them again. A commit that is put together in any
 * other way is not one, whatever fields it has, and a copy of one is none either.
 */
class ComposedCommit implements ThreadCommit {
  readonly #isComposed = true;
  declare readonly threadId: ThreadCommit["threadId"];
  declare readonly runId: ThreadCommit["runId"];

  constructor(writer: typeof WRITER, parts: ThreadCommit) {
    if (writer !== WRITER) throw new TypeError("only the writer of runs composes commits");
    Object.assign(this, parts);
  }

  static is(commit: ThreadCommit): boolean {
    return #isComposed in commit;
  }
}

/** For the one who writes the commits of runs, and vouches for what they hold: `scripts/layer-rules.ts` lets nobody else have it. */
export const composedCommit = (parts: ThreadCommit): ThreadCommit => new ComposedCommit(WRITER, parts);

/** Whether run, events, state and ledger rows are handed over: a store may keep them as they are. */
export const isComposed = (commit: ThreadCommit): boolean => ComposedCommit.is(commit);

import type { ThreadCommit } from "./commit.ts";

/**
 * A commit that the runtime's own writer composed: its run, events, state and ledger rows were checked where they came in, belong to
 * nobody who could change them, and are handed over. A store neither checks nor copies them again. Whoever makes one vouches for that; a
 * commit that is put together in any other way is not one, whatever fields it has, and a copy of one is none either.
 */
export class ComposedCommit implements ThreadCommit {
  readonly #isComposed = true;
  declare readonly threadId: ThreadCommit["threadId"];
  declare readonly runId: ThreadCommit["runId"];

  constructor(parts: ThreadCommit) {
    Object.assign(this, parts);
  }

  static is(commit: ThreadCommit): boolean {
    return #isComposed in commit;
  }
}

import type { ThreadCommit } from "./commit.ts";

/**
 * Commits that the runtime's own writer composed: their run, events, state, messages and ledger rows belong to nobody who could change
 * them, and are handed over: a store does not copy them again, and checks none of them but messages. A commit that is put together in any
 * other way is not one, whatever fields it has, and a copy of one is none either.
 */
const composed = new WeakSet<ThreadCommit>();

/** For the one who writes the commits of runs, and vouches for what they hold: `scripts/layer-rules.ts` lets nobody else have it. */
export function composedCommit(parts: ThreadCommit): ThreadCommit {
  composed.add(parts);
  return parts;
}

/** Whether run, events, state, messages and ledger rows are handed over: a store may keep them as they are. */
export const isComposed = (commit: ThreadCommit): boolean => composed.has(commit);

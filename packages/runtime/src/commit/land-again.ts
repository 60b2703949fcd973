import { AwakenError, type RunRecord } from "@awaken/contract";
import { type CommitResult, MAX_COMMIT_ATTEMPTS, sameJson, type ThreadCommit } from "@awaken/contract/store";
import type { CommitPorts, CommitStore } from "./commit-store.ts";
import { rowsAfter } from "./rows-after.ts";
import { takenUp } from "./taken-up.ts";

/** A commit that the store did not take, or did not say so. */
export interface Unlanded {
  readonly sent: ThreadCommit;
  readonly thrown: unknown;
  /** Tries so far. */
  readonly attempt: number;
  /** Rows in the log as the run knows it. */
  readonly count: number;
  /**
   * Whether the commit follows from what was read of the thread, or is true whatever is there; or from what the run, which has not begun, has not read: the
   * thread is there in spite of its new id, or somebody had it since it was read.
   */
  readonly stands: "as-read" | "anyhow" | "unread";
}

/**
 * What is on record after all; else the count that the next try is on. Throws when there is no use in one: behind a rewind the run would go on with what is gone.
 * One whose answer was lost may come to be on record long after: whatever is the matter with a later try, it may be that.
 */
export async function landAgain(
  store: CommitStore,
  unsure: readonly ThreadCommit[],
  { sent, thrown, attempt, count, stands }: Unlanded,
): Promise<ThreadCommit | number> {
  for (const commit of unsure) if (await isOnRecord(store, commit)) return commit;
  if (attempt === MAX_COMMIT_ATTEMPTS || !AwakenError.is(thrown)) throw thrown;
  if (thrown.code === "commit_unknown") return count;
  const { actual } = thrown.details;
  if (thrown.code !== "message_version_conflict" || typeof actual !== "number" || stands === "unread") throw thrown;
  if (stands === "as-read" && (await isRewound(store, sent, count))) throw thrown;
  return actual;
}

/** Whether somebody has taken rows out that the run has read. */
async function isRewound({ messages }: CommitStore, { threadId }: ThreadCommit, count: number): Promise<boolean> {
  const later = await rowsAfter(messages, threadId, count);
  return later.some(({ message }) => message.role !== "tool" && (message.metadata?.rewind?.fromSeq ?? count + 1) <= count);
}

/** By what no other commit has: its messages, which are never in a log twice, else its record, which is later than all before. */
async function isOnRecord(store: CommitStore, { threadId, runId, run, messageDelta }: ThreadCommit): Promise<boolean> {
  const own = messageDelta?.messages[0];
  if (own !== undefined) return (await store.messages.load(threadId, [own.id])).length > 0;
  const stored = await store.runs.load(runId);
  return run !== undefined && sameJson(stored, { ...run, ordinal: stored?.ordinal });
}

/** A run goes on once: whoever comes second finds another record than the one that it read, and changes nothing. */
export async function takeUpOnce({ runs, commit: write }: CommitPorts, resumed: RunRecord, commit: ThreadCommit): Promise<CommitResult> {
  if (sameJson(await runs.load(resumed.runId), resumed)) return write(commit);
  throw takenUp(resumed);
}

/** Does all of `work` again when somebody else wrote at the same moment: the next look tells what. */
async function inTransaction<T>(store: CommitStore, work: (ports: CommitPorts) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.transaction(work);
    } catch (thrown) {
      const isOvertaken = AwakenError.is(thrown) && thrown.code === "version_conflict";
      if (!isOvertaken || attempt === MAX_COMMIT_ATTEMPTS) throw thrown;
    }
  }
}

/**
 * The first commit of a run that goes on. Whoever shows a fence had the thread before the record was read: since then others can have ended a run that had not
 * begun, which the store refuses to let go on, and written nothing else of it.
 */
export async function commitTakenUp(store: CommitStore, resumed: RunRecord, commit: ThreadCommit): Promise<CommitResult> {
  if (commit.fence === undefined) return inTransaction(store, (ports) => takeUpOnce(ports, resumed, commit));
  try {
    return await store.commit(commit);
  } catch (thrown) {
    throw AwakenError.is(thrown) && thrown.code === "illegal_transition" ? takenUp(resumed) : thrown;
  }
}

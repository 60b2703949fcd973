import { AwakenError } from "../error.ts";
import type { ThreadCommit } from "./commit.ts";
import { isComposed } from "./composed-commit.ts";
import { checkMessageDelta } from "./message-delta.ts";
import { nonBlankSchema } from "./schemas.ts";

/** One that a run's own writer composed, with nothing for a queue, for other threads or about wishes: what most are. */
export const isPlainCommit = (commit: ThreadCommit): boolean =>
  isComposed(commit) &&
  commit.pending === undefined &&
  commit.outbound === undefined &&
  commit.takes === undefined &&
  commit.dispatch?.type !== "enqueue";

/** What `checkCommit` comes to for such a one, in a store that has a queue. */
export function checkPlainCommit(commit: ThreadCommit): void {
  checkIds(commit);
  checkMessages(commit);
  checkDispatch(commit);
}

export function refuse(why: string, commit: ThreadCommit): AwakenError {
  return new AwakenError("storage_validation", `commit of run '${commit.runId}' on thread '${commit.threadId}': ${why}`);
}

const isText = (value: unknown): boolean => nonBlankSchema.fits(value, 0);

export function checkIds(commit: ThreadCommit): void {
  if (!isText(commit.threadId) || !isText(commit.runId)) throw refuse("thread and run ids must be non-blank", commit);
  const { fence } = commit;
  if (fence !== undefined && !(isText(fence.dispatchId) && isText(fence.claimToken))) throw refuse("the fence is blank", commit);
}

export function checkMessages(commit: ThreadCommit): void {
  if (commit.messageDelta === undefined) return;
  const { messages, expectedMessageCount } = commit.messageDelta;
  if (!Number.isSafeInteger(expectedMessageCount) || expectedMessageCount < 0) {
    throw refuse("a message delta needs expectedMessageCount", commit);
  }
  if (!Array.isArray(messages)) throw refuse("a message delta needs messages", commit);
  checkMessageDelta(messages, { nextSeq: expectedMessageCount + 1 });
}

export function checkDispatch(commit: ThreadCommit): void {
  const { dispatch, fence } = commit;
  if (dispatch === undefined) return;
  if (dispatch.type === "ack" || dispatch.type === "dead-letter") {
    if (fence === undefined) throw refuse(`'${dispatch.type}' needs the fence of the dispatch`, commit);
  } else if (dispatch.dispatch.threadId !== commit.threadId || dispatch.dispatch.runId !== commit.runId) {
    throw refuse("the dispatch is of another run or thread", commit);
  }
}

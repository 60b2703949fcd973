import { AwakenError } from "../error.ts";
import { checkDispatch, checkIds, checkMessages, refuse } from "./check-plain-commit.ts";
import type { ThreadCommit } from "./commit.ts";
import { isComposed } from "./composed-commit.ts";
import { eventDraft } from "./event-records.ts";
import type { LedgerClaim, LedgerOutcome } from "./ledger.ts";
import { checkOutbound } from "./outbound.ts";
import { runProjection } from "./run-schema.ts";
import { threadState } from "./thread-rows.ts";
import { areUnique } from "./unique.ts";

/**
 * Every rule that needs no I/O; `storage_validation`. It does not trust types: commits also come from plain JavaScript. A store without a
 * queue says so, and parts of a queue are `capability_mismatch`. What a composed commit hands over is not looked at again; messages are.
 */
export function checkCommit(commit: ThreadCommit, { queue }: { readonly queue: boolean } = { queue: true }): void {
  checkIds(commit);
  if (!queue) checkNoQueue(commit);
  if (!isComposed(commit)) checkRecords(commit);
  checkMessages(commit);
  checkDispatch(commit);
  checkPending(commit);
  if (commit.outbound !== undefined) checkOutbound(commit.outbound, commit.threadId, queue);
  if (commit.takes !== undefined && !areUnique(commit.takes, (id) => id)) throw refuse("a wish is taken twice", commit);
}

function checkNoQueue(commit: ThreadCommit): void {
  const part = (["fence", "dispatch", "pending"] as const).find((name) => commit[name] !== undefined);
  if (part === undefined) return;
  throw new AwakenError("capability_mismatch", `commit of run '${commit.runId}': this store has no queue, so it cannot take '${part}'`, {
    details: { runId: commit.runId, part },
  });
}

function checkRecords(commit: ThreadCommit): void {
  checkRun(commit);
  checkEvents(commit);
  checkLedger(commit);
  if (commit.threadState !== undefined) threadState.check(commit.threadState);
}

function checkRun(commit: ThreadCommit): void {
  if (commit.run === undefined) {
    if (commit.isNewRun !== undefined) throw refuse("a new run needs its record", commit);
    return;
  }
  const run = runProjection.check(commit.run);
  if (run.threadId !== commit.threadId || run.runId !== commit.runId) throw refuse("the run record is of another run or thread", commit);
}

function checkEvents(commit: ThreadCommit): void {
  if (commit.events === undefined) return;
  for (const { draft } of commit.events) {
    const { threadId = commit.threadId, runId = commit.runId } = eventDraft.check(draft);
    if (threadId !== commit.threadId || runId !== commit.runId) throw refuse(`event '${draft.kind}' is of another scope`, commit);
  }
}

function checkLedger(commit: ThreadCommit): void {
  if (commit.ledger === undefined) return;
  const { claims = [], outcomes = [] } = commit.ledger;
  if (areUnique(claims, keyOf) && areUnique(outcomes, keyOf)) return;
  throw refuse("an idempotency key is twice in the ledger change", commit);
}

const keyOf = (row: LedgerClaim | LedgerOutcome): string => row.idempotencyKey;

function checkPending(commit: ThreadCommit): void {
  const entries = commit.pending?.consume?.entries;
  if (entries === undefined || entries.length === 0) return;
  const consumed = entries.map((entry) => entry.pendingId);
  const wanted = new Set(consumed);
  const appended = (commit.messageDelta?.messages ?? []).map((message) => message.id).filter((id) => wanted.has(id));
  if (appended.length !== consumed.length || appended.some((id, index) => id !== consumed[index])) {
    throw refuse("consumed pending messages must be in the delta, in their order", commit);
  }
}

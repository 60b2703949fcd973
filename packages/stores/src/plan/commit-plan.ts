import { AwakenError, checkRunTransition, type DispatchId, type RunActivation, type RunRecord, type ThreadId } from "@awaken/contract";
import {
  checkLineage,
  type DispatchRecord,
  isAside,
  isEnding,
  type LedgerEntry,
  needsFence,
  projectRun,
  type QueuedDispatch,
  readClaim,
  type ThreadCommit,
  type ThreadRecord,
  toThreadRecord,
} from "@awaken/contract/store";
import { fenceLost, fenceMissing } from "../fence-errors.ts";
import { type DispatchMove, planDispatch, type QueueReads } from "./dispatch-plan.ts";
import { type LedgerPlan, planLedger } from "./ledger-plan.ts";
import type { OutboundPlan, OutboundReads } from "./outbound-plan.ts";
import type { PendingPlan, PendingReads } from "./pending-plan.ts";
import type { RarePlans } from "./rare-plans.ts";
import type { OpenWish, WishPlan } from "./wish-plan.ts";

/** A thread as a commit finds it, with the lengths of its log and of its list of runs. */
export interface FoundThread {
  readonly record: ThreadRecord;
  readonly messageCount: number;
  readonly runCount: number;
}

/** What a commit asks its transaction, after the thread is locked. */
export interface CommitReads extends QueueReads, PendingReads {
  thread(): FoundThread | undefined;
  run(): RunRecord | undefined;
  /** From this thread up to the root, as far as they exist. */
  lineage(id: ThreadId): readonly ThreadId[];
  dispatch(id: DispatchId): DispatchRecord | undefined;
  ledger(key: string): LedgerEntry | undefined;
  /** Wishes of the run that nobody took. */
  openWishes(): readonly OpenWish[];
  readonly outbound: OutboundReads;
}

/** What a commit does, but for its messages, its state and its events, which each engine lays down in its own way. */
export interface CommitPlan {
  readonly thread: ThreadRecord;
  /** Rows in the log before it. */
  readonly messageCount: number;
  readonly run: RunMove | undefined;
  readonly ledger: LedgerPlan;
  readonly pending: PendingPlan;
  /** Whether messages are left in the queue; undefined when none were taken out of it. */
  readonly hasPending: boolean | undefined;
  readonly dispatch: DispatchMove | undefined;
  readonly wishes: WishPlan;
  readonly outbound: OutboundPlan;
  readonly next: QueuedDispatch | undefined;
}

export interface RunMove {
  readonly before: RunRecord | undefined;
  /** Made for the plan: whoever writes it may change it. */
  readonly after: RunRecord & { activation: RunActivation };
}

export interface PlanParts {
  readonly now: number;
  readonly ids: () => string;
  /** What few commits need. */
  readonly rare: () => RarePlans;
}

const NOTHING: readonly never[] = Object.freeze([]);
const NO_PENDING: PendingPlan = Object.freeze({ added: NOTHING, removed: NOTHING });
const NO_WISHES: WishPlan = Object.freeze({ taken: NOTHING, open: NOTHING });
const NO_OUTBOUND: OutboundPlan = Object.freeze({ ids: NOTHING, deliveries: NOTHING, events: NOTHING });

/**
 * The order of `CommitThread`, spelled once: decides the whole commit without writing anything; `checkCommit` has passed. Whether a message
 * id is new is found out when it is written.
 */
export function planCommit(commit: ThreadCommit, reads: CommitReads, { now, ids, rare }: PlanParts): CommitPlan {
  const fenced = checkFence(commit, reads);
  const found = reads.thread();
  const messageCount = checkCount(commit, found?.messageCount ?? 0);
  const run = planRun(commit, reads, (found?.runCount ?? 0) + 1);
  const thread = planThread({ commit, found: found?.record, run, now }, reads);
  const ledger = planLedger(commit, run?.after ?? (commit.ledger && reads.run()), reads, now);
  const pending = commit.pending === undefined ? NO_PENDING : rare().planPending(commit, reads, now);
  const hasPending = commit.pending?.consume === undefined ? undefined : rare().leftPending(reads, pending).length > 0;
  const dispatch = commit.dispatch && planDispatch(commit.dispatch, { commit, fenced, now, token: ids, rare }, reads);
  const open = reads.openWishes();
  const hasTakes = open.length > 0 || (commit.takes !== undefined && commit.takes.length > 0);
  const wishes = hasTakes ? rare().planTakes(commit, open, run?.before) : NO_WISHES;
  const outbound = commit.outbound === undefined ? NO_OUTBOUND : rare().planOutbound(commit, reads, now);
  const isLeft = wishes.open.length > 0 || (commit.run?.status === "done" && pending.added.length + reads.pending().length > 0);
  const next = isLeft ? rare().planNext({ commit, fenced, openWishes: wishes.open, pending, now, ids }, reads) : undefined;
  return { thread, messageCount, run, ledger, pending, hasPending, dispatch, wishes, outbound, next };
}

/** The claim must be on this very run, unless the commit only ends another one, which the run that has the thread leaves behind. */
function checkFence(commit: ThreadCommit, reads: CommitReads): DispatchRecord | undefined {
  const { fence, threadId, runId } = commit;
  if (fence === undefined) {
    if (reads.hasClaim() && needsFence(commit, reads.run())) throw fenceMissing(threadId);
    return undefined;
  }
  const dispatch = reads.dispatch(fence.dispatchId);
  const isOwn = dispatch?.threadId === threadId && (dispatch.runId === runId || isEnding(commit));
  const claim = isOwn ? readClaim(dispatch, fence.claimToken, reads.epoch()) : "lost";
  if (claim === "held") return dispatch;
  throw fenceLost(fence.dispatchId, claim);
}

function checkCount({ threadId, messageDelta }: ThreadCommit, actual: number): number {
  if (messageDelta === undefined || messageDelta.expectedMessageCount === actual) return actual;
  const { expectedMessageCount: expected } = messageDelta;
  throw new AwakenError("message_version_conflict", `thread '${threadId}' has ${actual} messages, the writer saw ${expected}`, {
    details: { threadId, expected, actual },
  });
}

function planRun(commit: ThreadCommit, reads: CommitReads, nextOrdinal: number): RunMove | undefined {
  if (commit.run === undefined) return undefined;
  const before = reads.run();
  if (before === undefined) return { before, after: { ...commit.run, ordinal: nextOrdinal } };
  if (commit.isNewRun)
    throw new AwakenError("storage_already_exists", `run '${commit.runId}' exists`, { details: { runId: commit.runId } });
  checkRunTransition(before, commit.run);
  return { before, after: { ...commit.run, ordinal: before.ordinal } };
}

interface ThreadChange {
  readonly commit: ThreadCommit;
  readonly found: ThreadRecord | undefined;
  readonly run: RunMove | undefined;
  readonly now: number;
}

function planThread({ commit, found, run, now }: ThreadChange, reads: CommitReads): ThreadRecord {
  const before = found === undefined ? toThreadRecord({ id: commit.threadId }, now) : touched(found, now);
  const standsAside = commit.fence === undefined && reads.hasClaim() && isAside(commit, run?.before);
  const record = run === undefined || standsAside ? before : projectRun(before, run.after);
  if (record.parentThreadId !== undefined && record.parentThreadId !== before.parentThreadId) {
    checkLineage(record, reads.lineage(record.parentThreadId));
  }
  return record;
}

const touched = (thread: ThreadRecord, now: number): ThreadRecord => ({ ...thread, metadata: { ...thread.metadata, updatedAt: now } });

import { AwakenError, checkRunTransition, type DispatchId, type RunRecord, type ThreadId } from "@awaken/contract";
import {
  checkLineage,
  type DispatchRecord,
  type EventAppend,
  foldedUpTo,
  followUp,
  isAside,
  isEnding,
  type LedgerEntry,
  MESSAGE_SCHEMA_VERSION,
  type MessageRecord,
  needsFence,
  projectRun,
  type QueuedDispatch,
  readClaim,
  type ThreadCommit,
  type ThreadRecord,
  toThreadRecord,
} from "@awaken/contract/store";
import { planDispatch, planFollowUp, type QueueReads } from "../plan/dispatch-plan.ts";
import { type LedgerPlan, planLedger } from "../plan/ledger-plan.ts";
import { type OutboundPlan, type OutboundReads, planOutbound } from "../plan/outbound-plan.ts";
import { type PendingPlan, type PendingReads, planPending } from "../plan/pending-plan.ts";
import { type OpenWish, planTakes, type WishPlan } from "../plan/wish-plan.ts";
import { fenceLost, fenceMissing } from "../worker-moves.ts";
import { type Env, newIncarnation } from "./env.ts";
import { type EventPlan, type EventReads, planEvents } from "./event-log.ts";

/** A thread and the counters that make a commit cost what it changes, not what the thread holds. */
export interface ThreadRow {
  readonly record: ThreadRecord;
  readonly messageCount: number;
  /** `foldedUpTo` of the log. */
  readonly folded: number;
  readonly runCount: number;
  /** Null for a thread that is older than this column. */
  readonly incarnation: string | null;
}

/** What a commit asks its transaction, after the thread is locked. */
export interface CommitReads extends QueueReads, PendingReads {
  thread(): ThreadRow | undefined;
  run(): RunRecord | undefined;
  /** From this thread up to the root, as far as they exist. */
  lineage(id: ThreadId): readonly ThreadId[];
  dispatch(id: DispatchId): DispatchRecord | undefined;
  ledger(key: string): LedgerEntry | undefined;
  /** Wishes of the run that nobody took. */
  openWishes(): readonly OpenWish[];
  readonly outbound: OutboundReads;
  readonly events: EventReads;
}

/** Everything that a commit writes. Whether a message id is new is left to the unique index of the log. */
export interface CommitPlan {
  readonly thread: { readonly before: ThreadRow | undefined; readonly after: ThreadRow };
  readonly messages: readonly MessageRecord[];
  readonly run: { readonly before: RunRecord | undefined; readonly after: RunRecord } | undefined;
  readonly ledger: LedgerPlan;
  readonly pending: PendingPlan;
  readonly dispatch: { readonly before: DispatchRecord | undefined; readonly after: DispatchRecord } | undefined;
  readonly events: EventPlan;
  readonly wishes: WishPlan;
  readonly next: QueuedDispatch | undefined;
  /** The commit lets go of the thread, and more waits in its queue. */
  readonly isFreed: boolean;
  readonly outbound: OutboundPlan;
}

const NO_EVENTS: readonly EventAppend[] = [];

/** Decides the whole commit without writing anything; `checkCommit` has passed. */
export function planCommit(commit: ThreadCommit, reads: CommitReads, env: Env): CommitPlan {
  const now = env.clock();
  const fenced = checkFence(commit, reads);
  const before = reads.thread();
  const messages = planMessages(commit, before?.messageCount ?? 0, now);
  const run = planRun(commit, reads, (before?.runCount ?? 0) + 1);
  const after = planThread({ commit, before, messages, run, now }, reads);
  const ledger = planLedger(commit, run?.after ?? reads.run(), (key) => reads.ledger(key), now);
  const pending = planPending(commit, reads, now);
  const dispatch = planDispatch({ commit, fenced, now, token: env.ids }, reads);
  const wishes = planTakes(commit, reads.openWishes(), run?.before);
  const outbound = planOutbound(commit.outbound, reads.outbound, now);
  const own = commit.events ?? NO_EVENTS;
  const planned = planEvents(outbound.events.length === 0 ? own : [...own, ...outbound.events], reads.events, env);
  const events = { ...planned, events: planned.events.slice(0, own.length) };
  const next = planNext({ commit, fenced, openWishes: wishes.open, pending, now }, reads, env);
  const isFreed = dispatch?.before !== undefined && reads.hasQueued();
  return { thread: { before, after }, messages, run, ledger, pending, dispatch, events, wishes, next, isFreed, outbound };
}

interface Ending {
  readonly commit: ThreadCommit;
  readonly fenced: DispatchRecord | undefined;
  readonly openWishes: readonly string[];
  readonly pending: PendingPlan;
  readonly now: number;
}

function planNext({ commit, fenced, openWishes, pending, now }: Ending, reads: CommitReads, env: Env): QueuedDispatch | undefined {
  const isOver = commit.run?.status === "done";
  const removed = new Set(pending.removed);
  const left = isOver ? [...reads.pending().filter((entry) => !removed.has(entry.pendingId)), ...pending.added] : [];
  const wanted = followUp(commit, { openWishes, pending: left, ids: env.ids });
  if (wanted === undefined || (isOver && reads.hasQueued())) return undefined;
  return planFollowUp(wanted, { fenced: fenced?.dispatchId, isSettled: commit.dispatch !== undefined, now }, reads);
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

function planMessages({ threadId, messageDelta }: ThreadCommit, actual: number, now: number): readonly MessageRecord[] {
  if (messageDelta === undefined) return [];
  const { messages, expectedMessageCount: expected } = messageDelta;
  if (expected !== actual) {
    throw new AwakenError("message_version_conflict", `thread '${threadId}' has ${actual} messages, the writer saw ${expected}`, {
      details: { threadId, expected, actual },
    });
  }
  return messages.map((message, index) => ({
    schemaVersion: MESSAGE_SCHEMA_VERSION,
    threadId,
    seq: actual + index + 1,
    createdAt: now,
    message,
  }));
}

function planRun(commit: ThreadCommit, reads: CommitReads, nextOrdinal: number): CommitPlan["run"] {
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
  readonly before: ThreadRow | undefined;
  readonly messages: readonly MessageRecord[];
  readonly run: CommitPlan["run"];
  readonly now: number;
}

function planThread({ commit, before, messages, run, now }: ThreadChange, reads: CommitReads): ThreadRow {
  const found = before?.record ?? toThreadRecord({ id: commit.threadId }, now);
  const touched: ThreadRecord = { ...found, metadata: { ...found.metadata, updatedAt: now } };
  const standsAside = commit.fence === undefined && reads.hasClaim() && isAside(commit, run?.before);
  const record = run === undefined || standsAside ? touched : projectRun(touched, run.after);
  if (record.parentThreadId !== undefined && record.parentThreadId !== found.parentThreadId) {
    checkLineage(record, reads.lineage(record.parentThreadId));
  }
  return {
    record,
    messageCount: (before?.messageCount ?? 0) + messages.length,
    folded: foldedUpTo(messages, before?.folded),
    runCount: (before?.runCount ?? 0) + (run !== undefined && run.before === undefined ? 1 : 0),
    incarnation: before === undefined ? newIncarnation() : before.incarnation,
  };
}

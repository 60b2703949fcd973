import { type EventAppend, foldedUpTo, MESSAGE_SCHEMA_VERSION, type MessageRecord, type ThreadCommit } from "@awaken/contract/store";
import { type CommitPlan, type CommitReads, type FoundThread, planCommit } from "../plan/commit-plan.ts";
import { rarePlans } from "../plan/rare-plans.ts";
import { type Env, newIncarnation } from "./env.ts";
import { type EventPlan, type EventReads, planEvents } from "./event-log.ts";

/** A thread and the counters that make a commit cost what it changes, not what the thread holds. */
export interface ThreadRow extends FoundThread {
  /** `foldedUpTo` of the log. */
  readonly folded: number;
  /** Null for a thread that is older than this column. */
  readonly incarnation: string | null;
}

export interface RowReads extends CommitReads {
  thread(): ThreadRow | undefined;
  readonly events: EventReads;
}

/** The rows that a commit writes. */
export interface RowPlan extends Omit<CommitPlan, "thread" | "messageCount"> {
  readonly thread: { readonly before: ThreadRow | undefined; readonly after: ThreadRow };
  readonly messages: readonly MessageRecord[];
  readonly events: EventPlan;
  /** The commit lets go of the thread, and more waits in its queue. */
  readonly isFreed: boolean;
}

const rare = () => rarePlans;
const NO_EVENTS: readonly EventAppend[] = [];

/** Decides the whole commit without writing anything; `checkCommit` has passed. */
export function planRows(commit: ThreadCommit, reads: RowReads, env: Env): RowPlan {
  const now = env.clock();
  const plan = planCommit(commit, reads, { now, ids: env.ids, rare });
  const { thread: record, messageCount } = plan;
  const before = reads.thread();
  const messages = toRows(commit, messageCount, now);
  const after: ThreadRow = {
    record,
    messageCount: messageCount + messages.length,
    folded: foldedUpTo(commit.messageDelta?.messages ?? [], before?.folded),
    runCount: (before?.runCount ?? 0) + (plan.run !== undefined && plan.run.before === undefined ? 1 : 0),
    incarnation: before === undefined ? newIncarnation() : before.incarnation,
  };
  const own = commit.events ?? NO_EVENTS;
  const posted = plan.outbound.events;
  const planned = planEvents(posted.length === 0 ? own : [...own, ...posted], reads.events, env);
  const events = { ...planned, events: planned.events.slice(0, own.length) };
  const isFreed = plan.dispatch?.before !== undefined && reads.hasQueued();
  return { ...plan, thread: { before, after }, messages, events, isFreed };
}

function toRows({ threadId, messageDelta }: ThreadCommit, before: number, now: number): readonly MessageRecord[] {
  if (messageDelta === undefined) return [];
  return messageDelta.messages.map((message, index) => ({
    schemaVersion: MESSAGE_SCHEMA_VERSION,
    threadId,
    seq: before + index + 1,
    createdAt: now,
    message,
  }));
}

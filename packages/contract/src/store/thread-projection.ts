import type { RunId, ThreadId } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import type { RunRecord } from "../run.ts";
import type { SequencedMessage } from "./effective-view.ts";

/* What a thread is made of, and what commits do to it. `thread.ts` has what callers do to it. */

export const THREAD_SCHEMA_VERSION = 1;
export const MESSAGE_SCHEMA_VERSION = 1;

export interface ThreadMetadata {
  readonly createdAt: number;
  /** Time of the last save or commit. */
  readonly updatedAt: number;
  readonly title?: string;
  readonly custom: JsonObject;
}

/** The newest projected run; `updatedAt` and `ordinal` are the watermark that a later projection has to reach. */
export interface LatestRun {
  readonly id: RunId;
  readonly updatedAt: number;
  readonly ordinal: number;
}

export interface ThreadRecord {
  readonly schemaVersion: typeof THREAD_SCHEMA_VERSION;
  readonly id: ThreadId;
  /** A key of the host that groups threads. */
  readonly resourceId?: string;
  readonly parentThreadId?: ThreadId;
  readonly metadata: ThreadMetadata;
  /** The run that executes now. */
  readonly activeRunId?: RunId;
  /** The run that is not done. */
  readonly openRunId?: RunId;
  readonly latestRun?: LatestRun;
}

/** A row of the log. `seq` starts at 1 and has no gap. The run, step, call and mark of the row are those of its message. */
export interface MessageRecord extends SequencedMessage {
  readonly schemaVersion: typeof MESSAGE_SCHEMA_VERSION;
  readonly threadId: ThreadId;
  readonly createdAt: number;
}

/** One for all threads that have none. */
const NO_FIELDS: JsonObject = Object.freeze({});

/** A thread that nobody has said anything about. */
export const newThread = (id: ThreadId, now: number): ThreadRecord => ({
  schemaVersion: THREAD_SCHEMA_VERSION,
  id,
  metadata: { createdAt: now, updatedAt: now, custom: NO_FIELDS },
});

/**
 * Applied by every commit that carries a run. A stale run changes nothing, except that a done one still takes its own pointers away. One
 * that is put down for later changes nothing either while another is open: the thread is that one's until it is over.
 */
export function projectRun(thread: ThreadRecord, run: RunRecord): ThreadRecord {
  const { latestRun: before, openRunId } = thread;
  const { runId, ordinal } = run;
  if (run.status === "created" && openRunId !== undefined && openRunId !== runId) return thread;
  const isDone = run.status === "done";
  const isLatest = isCurrent(before, run);
  if (!isLatest && !isDone) return thread;

  const updatedAt = before?.id === runId ? Math.max(before.updatedAt, run.updatedAt) : run.updatedAt;
  const latestRun = isLatest || before === undefined ? { id: runId, updatedAt, ordinal } : before;
  const record: Draft = { schemaVersion: thread.schemaVersion, id: thread.id, metadata: thread.metadata, latestRun };
  // Once: who deleted the parent, or took the thread from it, is not to find it there again.
  const parent = isLatest && before?.id !== runId ? parentOf(thread, run) : thread.parentThreadId;
  const active = run.status === "running" ? runId : isDone ? unless(thread.activeRunId, runId) : undefined;
  const open = isDone ? unless(thread.openRunId, runId) : runId;
  if (thread.resourceId !== undefined) record.resourceId = thread.resourceId;
  if (parent !== undefined) record.parentThreadId = parent;
  if (active !== undefined) record.activeRunId = active;
  if (open !== undefined) record.openRunId = open;
  return record;
}

type Draft = { -readonly [Key in keyof ThreadRecord]: ThreadRecord[Key] };

const unless = (id: RunId | undefined, gone: RunId): RunId | undefined => (id === gone ? undefined : id);

/** The latest run itself is always current: its writes are ordered by the store, whatever the clocks of two nodes say. */
function isCurrent(latest: LatestRun | undefined, run: RunRecord): boolean {
  if (latest === undefined || latest.id === run.runId) return true;
  return run.updatedAt > latest.updatedAt || (run.updatedAt === latest.updatedAt && run.ordinal > latest.ordinal);
}

function parentOf(thread: ThreadRecord, run: RunRecord): ThreadId | undefined {
  const parent = run.activation.trace.parentThreadId;
  return thread.parentThreadId ?? (parent === thread.id ? undefined : parent);
}

import type { ThreadId } from "../ids.ts";
import type { RunRecord } from "../run.ts";
import type { PersistedState } from "../state.ts";
import type { SequencedMessage } from "./effective-view.ts";
import type { Page } from "./page.ts";
import type { NewThread, ThreadPatch } from "./thread.ts";
import type { ThreadRecord } from "./thread-projection.ts";

/** What to do with the children of a deleted thread: refuse, let them go (only the direct ones lose their parent), delete all below. */
export const CHILD_STRATEGIES = ["reject", "detach", "cascade"] as const;
export type ChildStrategy = (typeof CHILD_STRATEGIES)[number];

export interface ThreadFilter {
  readonly resourceId?: string;
  readonly lineage?: { readonly type: "root" } | { readonly type: "child-of"; readonly threadId: ThreadId };
}

/** Threads stand by last activity, the newest first, then by id. */
export interface ThreadPosition {
  readonly updatedAt: number;
  readonly id: ThreadId;
}

/** All that a run needs of its thread, from one snapshot: no part of it is older or newer than another. */
export interface ThreadHead {
  readonly thread: ThreadRecord;
  /** `effectiveMessages` of the log. */
  readonly messages: readonly SequencedMessage[];
  /** Rows of the raw log: the guard of the next commit. */
  readonly messageCount: number;
  readonly latestRun?: RunRecord;
  readonly openRun?: RunRecord;
  readonly state?: PersistedState;
}

export interface ThreadStore {
  /** `storage_already_exists` when the id is taken; `storage_validation` when `checkLineage` refuses. */
  create(thread: NewThread): Promise<ThreadRecord>;

  load(id: ThreadId): Promise<ThreadRecord | undefined>;

  /** One atomic read, patch and write. `storage_not_found`, or `storage_validation` when `checkLineage` refuses. */
  update(id: ThreadId, patch: ThreadPatch): Promise<ThreadRecord>;

  /**
   * One transaction. With the thread go its messages, pending messages, state, runs, dispatches, ledger rows, events (out of the logs of
   * all runs; what its runs have in other threads stays) and stream checkpoints. `storage_not_found`; `thread_already_running` while a run of it, or of a thread that goes with it, is active;
   * `storage_validation` for `reject` when it has a child.
   */
  delete(id: ThreadId, children: ChildStrategy): Promise<void>;

  /** Filters apply before paging. */
  list(query: ThreadFilter & { readonly after?: ThreadPosition; readonly limit?: number }): Promise<Page<ThreadRecord, ThreadPosition>>;

  count(filter: ThreadFilter): Promise<number>;

  loadState(id: ThreadId): Promise<PersistedState | undefined>;

  /**
   * Undefined when the thread has neither messages nor runs. Reads the rows after `foldedUpTo` only: the store keeps that number
   * per thread (or an index over marks that start at row 1), so a compacted thread costs what its tail costs.
   */
  loadHead(id: ThreadId): Promise<ThreadHead | undefined>;
}

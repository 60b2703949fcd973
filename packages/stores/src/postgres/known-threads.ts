import type { RunRecord, ScopeId, ThreadId } from "@awaken/contract";
import type { DispatchRecord, LedgerEntry, ThreadCommit } from "@awaken/contract/store";
import type { RowPlan, RowReads, ThreadRow } from "../sql/commit-plan.ts";
import { type EventBatch, type EventPlan, eventHead, type LogHead, logKey } from "../sql/event-log.ts";
import { lastingRun } from "../sql/last-written.ts";

/** What a commit of this process found or wrote. What is undefined was not looked at. */
export interface KnownThread {
  readonly scopeId: ScopeId;
  /** Undefined when there was none. */
  readonly thread: ThreadRow | undefined;
  readonly run: RunRecord | undefined;
  /** How far logs came, by `logKey`. */
  readonly heads: ReadonlyMap<string, LogHead>;
  readonly epoch: number | undefined;
  /** The one that was shown or made last. */
  readonly dispatch: DispatchRecord | undefined;
  /** Effects that the run claimed and that have no outcome, by their keys. */
  readonly effects: ReadonlyMap<string, LedgerEntry>;
}

const NOTHING = { thread: undefined, run: undefined, heads: new Map(), epoch: 0, dispatch: undefined, effects: new Map() } as const;

const MAX_ENTRIES = 512;
/** So many claims of one thread; with more, commits read them. */
const MAX_EFFECTS = 64;

/**
 * Threads as this process wrote them last. Nobody may believe it: others write too. A commit that is planned from it goes through
 * `hold_thread`, which compares it with the rows.
 */
export class KnownThreads {
  readonly #maxEntries: number;
  /** The one that was written last stands last. By id alone: tenants that use the same ids share a place. */
  readonly #entries = new Map<string, KnownThread>();

  constructor({ cacheBytes }: { readonly cacheBytes?: number }) {
    this.#maxEntries = cacheBytes === 0 ? 0 : MAX_ENTRIES;
  }

  find(scopeId: ScopeId, id: ThreadId): KnownThread | undefined {
    const entry = this.#entries.get(id);
    return entry?.scopeId === scopeId ? entry : undefined;
  }

  /** A reader found nothing under this id, so nothing hangs on it. */
  absent(scopeId: ScopeId, id: ThreadId): void {
    this.#put(id, { scopeId, ...NOTHING });
  }

  /** What a commit, which is durable now, has read and written. */
  landed(scopeId: ScopeId, commit: ThreadCommit, { plan, reads }: { readonly plan: RowPlan; readonly reads: RowReads }): void {
    const { threadId, fence, dispatch } = commit;
    const before = this.find(scopeId, threadId);
    const hasQueue = fence !== undefined || dispatch !== undefined;
    this.#put(threadId, {
      scopeId,
      thread: plan.thread.after,
      run: plan.run === undefined ? before?.run : lastingRun(plan.run.after),
      heads: headsAfter(before?.heads, plan.events),
      epoch: hasQueue ? reads.epoch() : before?.epoch,
      dispatch: plan.dispatch?.after ?? (fence && reads.dispatch(fence.dispatchId)),
      effects: effectsAfter(before?.effects, plan),
    });
  }

  /** The dispatch that holds the thread is another one now, or another record of it. */
  moved(scopeId: ScopeId, dispatch: DispatchRecord): void {
    const known = this.find(scopeId, dispatch.threadId);
    if (known?.dispatch?.dispatchId === dispatch.dispatchId) this.#put(dispatch.threadId, { ...known, dispatch });
  }

  #put(id: ThreadId, entry: KnownThread): void {
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    if (this.#entries.size > this.#maxEntries) this.#dropOldest();
  }

  #dropOldest(): void {
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}

/** Logs of the last batch: a run has one log at a time, and its thread another. */
function headsAfter(before: KnownThread["heads"] = new Map(), { batches }: EventPlan): KnownThread["heads"] {
  const last = batches.at(-1);
  return last === undefined ? before : new Map(headsOf(last));
}

const headsOf = (batch: EventBatch): readonly (readonly [string, LogHead])[] => [
  ...(batch.threadId === undefined ? [] : [[logKey({ type: "thread", id: batch.threadId }), eventHead("thread", batch)] as const]),
  ...(batch.runId === undefined ? [] : [[logKey({ type: "run", id: batch.runId }), eventHead("run", batch)] as const]),
];

function effectsAfter(before: KnownThread["effects"] = new Map(), { ledger, run }: RowPlan): KnownThread["effects"] {
  if (run?.after.status === "done") return new Map();
  if (ledger.added.length + ledger.changed.length === 0) return before;
  const after = new Map(before);
  for (const entry of [...ledger.added, ...ledger.changed]) {
    if (entry.status === "claimed") after.set(entry.idempotencyKey, entry);
    else after.delete(entry.idempotencyKey);
  }
  return after.size > MAX_EFFECTS ? new Map() : after;
}

import type { RunRecord, ScopeId, ThreadId } from "@awaken/contract";
import type { DispatchRecord, LedgerEntry, PendingRecord, ThreadCommit } from "@awaken/contract/store";
import type { RowPlan, RowReads, ThreadRow } from "../sql/commit-plan.ts";
import { type EventBatch, type EventPlan, eventHead, type LogHead, logKey } from "../sql/event-log.ts";
import { lastingRun } from "../sql/last-written.ts";
import { bytesOf, Shelf } from "./shelf.ts";

/** What a commit or a claim of this process found or wrote. What is undefined was not looked at. */
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
  /** Messages that wait, in their order. */
  readonly pending: readonly PendingRecord[] | undefined;
}

const NOTHING = {
  ...{ thread: undefined, run: undefined, heads: new Map(), epoch: 0, dispatch: undefined },
  ...{ effects: new Map(), pending: undefined },
} as const;

/** What the claim of a dispatch found beside it. */
export type FoundByClaim = Pick<KnownThread, "run" | "heads" | "epoch" | "pending"> & { readonly thread: ThreadRow };

/** So many claims of one thread; with more, commits read them. */
const MAX_EFFECTS = 64;
/** Of the bytes: ids under which nothing was found push out each other, never a thread. */
const ABSENT_SHARE = 1 / 16;

interface Planned {
  readonly plan: RowPlan;
  readonly reads: RowReads;
  /** What it was planned from, when that was not the rows. */
  readonly known?: KnownThread;
}

export interface KnownThreadsInit {
  readonly maxBytes: number;
  /** Larger effects are not held: their rows have parts elsewhere. */
  readonly blobBytes: number;
}

/**
 * Threads as this process wrote them last. Nobody may believe it: others write too. The statement of a commit that is planned from it
 * compares it with the rows (`known-commit.ts`). By id alone: tenants that use the same ids share a place.
 */
export class KnownThreads {
  readonly #written: Shelf<KnownThread>;
  readonly #absent: Shelf<ScopeId>;
  readonly #blobBytes: number;
  #isUseless = false;

  constructor({ maxBytes, blobBytes }: KnownThreadsInit) {
    this.#written = new Shelf(maxBytes * (1 - ABSENT_SHARE));
    this.#absent = new Shelf(maxBytes * ABSENT_SHARE);
    this.#blobBytes = blobBytes;
  }

  /** About as many as are held. */
  get bytes(): number {
    return this.#written.bytes + this.#absent.bytes;
  }

  find(scopeId: ScopeId, id: ThreadId): KnownThread | undefined {
    if (this.#isUseless) return undefined;
    const known = this.#written.find(id);
    if (known?.scopeId === scopeId) return known;
    return this.#absent.find(id) === scopeId ? { scopeId, ...NOTHING } : undefined;
  }

  /** Of an id that nobody has used. */
  unseen(scopeId: ScopeId): KnownThread | undefined {
    return this.#isUseless ? undefined : { scopeId, ...NOTHING };
  }

  /** A reader found nothing under this id, so nothing hangs on it. */
  absent(scopeId: ScopeId, id: ThreadId): void {
    this.forget(scopeId, id);
    this.#absent.put(id, scopeId, 0);
  }

  forget(scopeId: ScopeId, id: ThreadId): void {
    if (this.#written.find(id)?.scopeId === scopeId) this.#written.drop(id);
    this.#absent.drop(id);
  }

  /** The server does not let us ask whether the rows are as they are known: from now on nothing is. */
  giveUp(): void {
    this.#isUseless = true;
  }

  /** What a commit, which is durable now, has read and written; also what it was planned from, which was compared with the rows. */
  landed(scopeId: ScopeId, commit: ThreadCommit, { plan, reads, known: before }: Planned): void {
    const { threadId, fence, dispatch } = commit;
    const hasQueue = fence !== undefined || dispatch !== undefined;
    const run = plan.run?.after ?? (before === undefined ? reads.run() : before.run);
    this.#absent.drop(threadId);
    this.#put(threadId, {
      scopeId,
      thread: plan.thread.after,
      run: run && lastingRun(run),
      heads: headsAfter(before?.heads, plan.events),
      epoch: hasQueue ? reads.epoch() : before?.epoch,
      dispatch: plan.dispatch?.after ?? (fence && reads.dispatch(fence.dispatchId)),
      effects: this.#effectsAfter(before?.effects, plan),
      pending: undefined,
    });
  }

  /** The first commit of its run need not ask for what the claim has read. */
  claimed(scopeId: ScopeId, dispatch: DispatchRecord, found: FoundByClaim): void {
    this.#absent.drop(dispatch.threadId);
    this.#put(dispatch.threadId, { scopeId, dispatch, effects: NOTHING.effects, ...found });
  }

  /** The dispatch that holds the thread is another one now, or another record of it. */
  moved(scopeId: ScopeId, dispatch: DispatchRecord): void {
    const known = this.find(scopeId, dispatch.threadId);
    if (known?.dispatch?.dispatchId === dispatch.dispatchId) this.#put(dispatch.threadId, { ...known, dispatch });
  }

  #put(id: ThreadId, known: KnownThread): void {
    const { thread, run, dispatch, effects, heads, pending = [] } = known;
    this.#written.put(id, known, bytesOf([thread, run, dispatch, ...effects.values(), ...heads, ...pending]));
  }

  #effectsAfter(before: KnownThread["effects"] = NOTHING.effects, { ledger, run }: RowPlan): KnownThread["effects"] {
    if (run?.after.status === "done") return NOTHING.effects;
    if (ledger.added.length + ledger.changed.length === 0) return before;
    const after = new Map(before);
    for (const entry of [...ledger.added, ...ledger.changed]) {
      const isHeld = entry.status === "claimed" && bytesOf(entry) <= this.#blobBytes;
      if (isHeld) after.set(entry.idempotencyKey, entry);
      else after.delete(entry.idempotencyKey);
    }
    return after.size > MAX_EFFECTS ? NOTHING.effects : after;
  }
}

/** Logs of the last batch: a run has one log at a time, and its thread another. */
function headsAfter(before: KnownThread["heads"] = NOTHING.heads, { batches }: EventPlan): KnownThread["heads"] {
  const last = batches.at(-1);
  return last === undefined ? before : new Map(headsOf(last));
}

const headsOf = (batch: EventBatch): readonly (readonly [string, LogHead])[] => [
  ...(batch.threadId === undefined ? [] : [[logKey({ type: "thread", id: batch.threadId }), eventHead("thread", batch)] as const]),
  ...(batch.runId === undefined ? [] : [[logKey({ type: "run", id: batch.runId }), eventHead("run", batch)] as const]),
];

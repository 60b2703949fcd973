import { AwakenError, type RunId, type ThreadId, type Ticket } from "@awaken/contract";
import type { LoopResult } from "../loop/finish.ts";
import type { AddressedDecision } from "../loop/run-context.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { Queue } from "../stream/queue.ts";

/** What controls a run from outside while it is active. */
export class ActiveRun {
  readonly threadId: ThreadId;
  readonly controller = new AbortController();
  readonly inbox = new Queue<InboxItem>();
  readonly decisions = new Queue<readonly AddressedDecision[]>();
  /** Resolves when the slot is free again; never rejects. */
  readonly released: Promise<void>;
  readonly release: () => void;
  runId: RunId;
  /** Set once the run is under way. */
  result: Promise<LoopResult> | undefined;
  /** The tickets that the run waits with, while it waits in memory. */
  tickets: readonly Ticket[] = [];

  constructor(threadId: ThreadId, runId: RunId) {
    this.threadId = threadId;
    this.runId = runId;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.released = promise;
    this.release = resolve;
  }

  /** Whether every one of these decisions is about a ticket of this run. */
  holds(batch: readonly AddressedDecision[]): boolean {
    return batch.every(({ target }) => this.tickets.some((ticket) => ticket.id === target || ticket.toolCallId === target));
  }

  /** Throws when the run does not take decisions any more. */
  send(batch: readonly AddressedDecision[]): void {
    if (this.decisions.push(batch)) return;
    throw new AwakenError("channel_closed", `run '${this.runId}' takes no decisions any more`, { details: { runId: this.runId } });
  }
}

export type Found = { readonly type: "found"; readonly run: ActiveRun } | { readonly type: "none" } | { readonly type: "ambiguous" };

/** The runs of this process: at most one per thread and one per run id. */
export class ActiveRuns {
  readonly #byThread = new Map<ThreadId, ActiveRun>();
  readonly #byRun = new Map<RunId, ActiveRun>();

  get size(): number {
    return this.#byThread.size;
  }

  /** Takes the thread, in one synchronous step. */
  claim(threadId: ThreadId, runId: RunId): ActiveRun {
    if (this.#byThread.has(threadId)) {
      throw new AwakenError("thread_already_running", `thread already has an active run: ${threadId}`, { details: { threadId } });
    }
    this.#refuseActive(runId);
    const run = new ActiveRun(threadId, runId);
    this.#byThread.set(threadId, run);
    this.#byRun.set(runId, run);
    return run;
  }

  /** The claim turned out to be for a run that exists already. The id of the claim stays an alias. */
  adopt(run: ActiveRun, runId: RunId): void {
    if (run.runId === runId) return;
    this.#refuseActive(runId);
    this.#byRun.set(runId, run);
    run.runId = runId;
  }

  /** Frees what this very run holds: a late release cannot free a newer run. */
  release(run: ActiveRun): void {
    if (this.#byThread.get(run.threadId) === run) this.#byThread.delete(run.threadId);
    for (const [id, active] of this.#byRun) if (active === run) this.#byRun.delete(id);
    run.inbox.close();
    run.decisions.close();
    run.release();
  }

  onThread(threadId: string): ActiveRun | undefined {
    return this.#byThread.get(threadId as ThreadId);
  }

  byRun(runId: string): ActiveRun | undefined {
    return this.#byRun.get(runId as RunId);
  }

  /** By run id or thread id. One id that names two runs names none. */
  find(id: string): Found {
    const byRun = this.byRun(id);
    const onThread = this.onThread(id);
    if (byRun !== undefined && onThread !== undefined && byRun !== onThread) return { type: "ambiguous" };
    const run = byRun ?? onThread;
    return run === undefined ? { type: "none" } : { type: "found", run };
  }

  all(): readonly ActiveRun[] {
    return [...this.#byThread.values()];
  }

  #refuseActive(runId: RunId): void {
    if (!this.#byRun.has(runId)) return;
    throw new AwakenError("thread_already_running", `run is already active: ${runId}`, { details: { runId } });
  }
}

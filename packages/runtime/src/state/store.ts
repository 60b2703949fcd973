import { errorMessage, type Log } from "@awaken/contract";
import type { Batch } from "./batch.ts";
import { RunState } from "./run-state.ts";
import * as late from "./schemas.ts";
import type { Snapshot } from "./snapshot.ts";

export interface CommitNotice {
  readonly previousRevision: number;
  readonly newRevision: number;
  readonly opCount: number;
  readonly snapshot: Snapshot;
}

export type CommitListener = (notice: CommitNotice) => void;

/** State that stands alone: nothing has to be loaded for it, and commits can be listened to. */
export class StateStore extends RunState {
  readonly #ownLog: Log;
  readonly #listeners = new Set<CommitListener>();
  #notices: CommitNotice[] = [];

  constructor(log: Log) {
    super(log, undefined, () => late);
    this.#ownLog = log;
  }

  /**
   * Called after each commit, in the order of registration; all listeners hear of one commit before any hears of the next, also
   * when one of them commits. A listener that throws is logged; the commit stands.
   */
  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  override commit(batch: Batch): number {
    const previousRevision = this.revision;
    const newRevision = super.commit(batch);
    if (newRevision === previousRevision || this.#listeners.size === 0) return newRevision;
    this.#notices.push({ previousRevision, newRevision, opCount: batch.updates.length, snapshot: this.snapshot() });
    // Otherwise a listener has committed, and the loop that called it comes to this notice.
    if (this.#notices.length === 1) this.#notifyAll();
    return newRevision;
  }

  #notifyAll(): void {
    try {
      for (const notice of this.#notices) for (const listener of [...this.#listeners]) this.#notify(listener, notice);
    } finally {
      this.#notices = [];
    }
  }

  #notify(listener: CommitListener, notice: CommitNotice): void {
    try {
      listener(notice);
    } catch (thrown) {
      this.#ownLog.error(`a state commit listener threw: ${errorMessage(thrown)}`);
    }
  }
}

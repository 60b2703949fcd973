import { ERROR_TABLE, type RunProjection } from "@awaken/contract";
import type { ClaimedDispatch } from "@awaken/contract/store";
import type { Clock } from "../stream/clock.ts";
import type { Ask } from "./tenant-queue.ts";

/** How a run ended, or an attempt at it that is made again. */
export type RunOutcome = "completed" | "transient_error" | "permanent_error" | "cancelled" | "superseded" | "dead_letter";

export interface RunEndFacts {
  /** One of a few words, for labels. */
  readonly outcome: RunOutcome;
  /** Since it began; 0 for one that never did. */
  readonly durationMs: number;
  /** The code of what went wrong. */
  readonly error?: string;
}

/** One dispatch that a worker of this process took out of the queue, and is through with. */
export interface DispatchFacts {
  /** When it was queued. */
  readonly queuedAt: number;
  /** When it might have been taken. */
  readonly dueAt: number;
  /** When it was taken. */
  readonly claimedAt: number;
  /** When its run began. */
  readonly startedAt: number;
  /** When the worker was through with it. */
  readonly endedAt: number;
  /** Whether it was tried before. */
  readonly isRetry: boolean;
  /** False when it went back into the queue. */
  readonly isSettled: boolean;
}

export interface OperationFacts {
  /** What the store was asked for: one of a few phrases. */
  readonly operation: string;
  /** Whether it answered. */
  readonly isOk: boolean;
  /** How long it took. */
  readonly durationMs: number;
}

/** Told of what the queue of this process does, for metrics: words and times, never an id. What it throws is lost. */
export interface QueueWatcher {
  /** The queue asked the store for something. */
  onOperation(facts: OperationFacts): void;
  /** A worker is through with a dispatch. */
  onDispatch(facts: DispatchFacts): void;
  /** A run is over. */
  onRunEnd(facts: RunEndFacts): void;
}

function outcomeOf(run: Extract<RunProjection, { readonly status: "done" }>): Pick<RunEndFacts, "outcome" | "error"> {
  const { termination } = run.outcome;
  switch (termination.type) {
    case "cancelled":
      return { outcome: "cancelled" };
    case "blocked":
      return { outcome: "permanent_error", error: "blocked" };
    case "error": {
      const { code } = termination;
      const error = code !== undefined && Object.hasOwn(ERROR_TABLE, code) ? code : "other";
      return { outcome: code === "dead_letter" ? "dead_letter" : "permanent_error", error };
    }
    default:
      return { outcome: "completed" };
  }
}

/** Whoever watches the queue of one process. Without one, nothing is measured. */
export class Watchers {
  readonly #all = new Set<QueueWatcher>();

  /** Until what it gives is called. */
  add(watcher: QueueWatcher): () => void {
    // The same one twice is told twice.
    const entry = {
      onOperation: (facts: OperationFacts) => watcher.onOperation(facts),
      onDispatch: (facts: DispatchFacts) => watcher.onDispatch(facts),
      onRunEnd: (facts: RunEndFacts) => watcher.onRunEnd(facts),
    };
    this.#all.add(entry);
    return () => void this.#all.delete(entry);
  }

  /** Measures what the store is asked for while somebody watches. */
  timed(ask: Ask, clock: Clock): Ask {
    return (what, asked) => {
      const answer = ask(what, asked);
      if (this.#all.size === 0) return answer;
      const begunAt = clock.now();
      const tell = (isOk: boolean) =>
        this.#tell((watcher) => watcher.onOperation({ operation: what, isOk, durationMs: clock.now() - begunAt }));
      answer.then(
        () => tell(true),
        () => tell(false),
      );
      return answer;
    };
  }

  /** `outcome`: what the record of the run does not say of it. */
  ended(run: RunProjection | undefined, outcome?: "superseded" | "dead_letter"): void {
    if (this.#all.size === 0 || run?.status !== "done") return;
    const durationMs = run.startedAt === undefined ? 0 : Math.max(0, run.finishedAt - run.startedAt);
    const facts = { ...outcomeOf(run), durationMs, ...(outcome === undefined ? undefined : { outcome }) };
    this.#tell((watcher) => watcher.onRunEnd(facts));
  }

  /** An attempt that failed, and is made again. */
  failed(durationMs: number): void {
    this.#tell((watcher) => watcher.onRunEnd({ outcome: "transient_error", durationMs }));
  }

  dispatched(claimed: ClaimedDispatch, rest: Pick<DispatchFacts, "startedAt" | "endedAt" | "isSettled">): void {
    const { createdAt, availableAt, updatedAt, attemptCount } = claimed;
    const facts = { queuedAt: createdAt, dueAt: availableAt, claimedAt: updatedAt, isRetry: attemptCount > 0, ...rest };
    this.#tell((watcher) => watcher.onDispatch(facts));
  }

  #tell(what: (watcher: QueueWatcher) => void): void {
    for (const watcher of this.#all) {
      try {
        what(watcher);
      } catch {
        // Whoever counts must not end a run.
      }
    }
  }
}

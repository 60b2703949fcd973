import { AwakenError, type ScopeId, type ThreadId } from "@awaken/contract";
import type { ScopedThread } from "@awaken/contract/store";
import type { Trail } from "./node.ts";

/** The dispatch that a worker of this process executes. */
class Place implements ScopedThread {
  readonly scopeId: ScopeId;
  readonly threadId: ThreadId;

  constructor({ scopeId, threadId }: ScopedThread) {
    this.scopeId = scopeId;
    this.threadId = threadId;
  }
}

/** A run that somebody waits for. */
export interface AwaitedRun extends ScopedThread {
  /** Nobody has begun it. */
  readonly isQueued: boolean;
}

/** Knows whether code is executed in a worker's place: what it waits for must not need that place. */
export class Places {
  readonly #trail: Trail | undefined;

  constructor(trail: Trail | undefined) {
    this.#trail = trail;
  }

  /** Executes a dispatch in its place. */
  within<T>(thread: ScopedThread, work: () => T): T {
    return this.#trail === undefined ? work() : this.#trail.run(new Place(thread), work);
  }

  /** Whether the code that asks has a place. Throws when it waits for what can only begin when it is over. */
  isWithin({ scopeId, threadId, isQueued }: AwaitedRun): boolean {
    const place = this.#trail?.getStore();
    if (!(place instanceof Place)) return false;
    if (isQueued && place.scopeId === scopeId && place.threadId === threadId) {
      throw new AwakenError(
        "thread_already_running",
        `thread already has an active run: ${threadId}, and what is queued behind it is waited for by its own code`,
        {
          details: { threadId },
        },
      );
    }
    return true;
  }
}

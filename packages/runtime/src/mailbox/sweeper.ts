import { DEFAULT_SCOPE, errorMessage, type ScopeId, type ThreadId } from "@awaken/contract";
import type { Retention, ScopedThread } from "@awaken/contract/store";
import { queueStranded } from "./left-behind.ts";
import { wakeOrphaned } from "./orphaned-tasks.ts";
import { endDead, type Tenant } from "./tenant.ts";
import type { QueueOfAll } from "./tenant-queue.ts";

export interface SweeperInit {
  readonly store: QueueOfAll;
  tenantOf(scopeId: ScopeId): Tenant;
  /** Undefined: nothing is deleted. */
  readonly retention: Retention | undefined;
}

/** How often. What it finds is rare: each of it is left by a process that was gone between two commits, or is past its time. */
const SWEEP_MS = 15 * 60_000;
const PAGE = 100;
/** Threads that one sweep looks at; the next one goes on behind them. */
const MAX_THREADS = 1_000;

/**
 * Finds what nobody else would: runs whose dead letter did not end them, messages that wait for nobody, runs that wait for tasks which
 * ended with their process, and rows that are past their time.
 * It has no timer of its own: a worker that looks asks it whether there is something to do. Several nodes may do the same at once.
 */
export class Sweeper {
  readonly #init: SweeperInit;
  #nextAt = 0;
  #isFirst = true;
  #isAtWork = false;
  #isClosed = false;
  #mended: Promise<void> | undefined;
  readonly #after: Record<"stranded" | "awaiting", ScopedThread | undefined> = { stranded: undefined, awaiting: undefined };

  constructor(init: SweeperInit) {
    this.#init = init;
  }

  /** Never rejects, and keeps nobody waiting. The first time nothing is deleted: processes that live for a moment are not for that. */
  tick(): void {
    const { clock, log } = this.#init.tenantOf(DEFAULT_SCOPE);
    if (this.#isAtWork || clock.now() < this.#nextAt) return;
    const deletes = !this.#isFirst;
    this.#isFirst = false;
    this.#isAtWork = true;
    this.#nextAt = clock.now() + SWEEP_MS;
    void this.#sweep(deletes)
      .catch((thrown: unknown) => log.warn(`what is left over could not be swept: ${errorMessage(thrown)}`))
      .finally(() => {
        this.#isAtWork = false;
      });
  }

  /**
   * Ends runs that are dead letters, queues messages that wait for nobody, and wakes runs whose tasks were lost. What cannot be mended of
   * one thread is logged, and keeps nobody else from it. Rejects when the store does not say what there is.
   */
  async mend(): Promise<void> {
    await inTurn([() => this.#endUnended(), () => this.#wakeStranded(), () => this.#wakeAwaiting()]);
  }

  async #sweep(deletes: boolean): Promise<void> {
    const { store, retention } = this.#init;
    // In transactions of its own, as many as there are: no limit of one call is right for all of them.
    const remove = async () => (deletes && retention !== undefined && !this.#isClosed ? await store.sweep(retention) : undefined);
    const mended = this.mend();
    this.#mended = mended.catch(() => {});
    await inTurn([() => mended, remove]);
  }

  /** The thread that it is at is its last one. Resolves when that is mended: whoever closes the runtime closes the store next. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#mended;
  }

  async #endUnended(): Promise<void> {
    if (this.#isClosed) return;
    const { store, tenantOf } = this.#init;
    const { ask } = tenantOf(DEFAULT_SCOPE);
    for (const { scopeId, dispatch } of await ask("list dead letters", store.queue.listUnended(PAGE))) {
      if (dispatch.status !== "dead-letter") continue;
      await this.#tryOn(dispatch.threadId, () => endDead(tenantOf(scopeId), dispatch));
    }
  }

  async #wakeStranded(): Promise<void> {
    const { store, tenantOf } = this.#init;
    await this.#walk("stranded", {
      list: (query) => store.queue.listStranded(query),
      mend: (scopeId, thread) => queueStranded(tenantOf(scopeId), thread),
    });
  }

  /** Runs that wait for code that ended with its process. */
  async #wakeAwaiting(): Promise<void> {
    const { store, tenantOf } = this.#init;
    await this.#walk("awaiting", {
      list: (query) => store.queue.listAwaitingTasks(query),
      mend: (scopeId, thread) => wakeOrphaned(tenantOf(scopeId), thread),
    });
  }

  async #walk(place: "stranded" | "awaiting", { list, mend }: Walk): Promise<void> {
    const { ask } = this.#init.tenantOf(DEFAULT_SCOPE);
    for (let seen = 0; seen < MAX_THREADS && !this.#isClosed; seen += PAGE) {
      const last = this.#after[place];
      const threads = await ask(
        "list threads that nobody comes to",
        list({ ...(last === undefined ? undefined : { after: last }), limit: PAGE }),
      );
      for (const { scopeId, threadId } of threads) await this.#tryOn(threadId, () => mend(scopeId, threadId));
      this.#after[place] = threads.length < PAGE ? undefined : threads.at(-1);
      if (this.#after[place] === undefined) return;
    }
  }

  /** A thread that cannot be read is no reason to leave the others alone. */
  async #tryOn(threadId: ThreadId, work: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return;
    try {
      await work();
    } catch (thrown) {
      const { log } = this.#init.tenantOf(DEFAULT_SCOPE);
      log.warn(`what is left over of thread ${threadId} could not be mended: ${errorMessage(thrown)}`, { threadId });
    }
  }
}

/** All of them, also behind one that fails; the first failure is thrown in the end. */
async function inTurn(works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const work of works) await work().catch((thrown: unknown) => failures.push(thrown));
  if (failures.length > 0) throw failures[0];
}

/** Threads that may need something, and what is done about one. */
interface Walk {
  list(query: { readonly after?: ScopedThread; readonly limit: number }): Promise<readonly ScopedThread[]>;
  mend(scopeId: ScopeId, thread: ThreadId): Promise<void>;
}

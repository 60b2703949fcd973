import { DEFAULT_SCOPE, errorMessage, type ScopeId, type ThreadId } from "@awaken/contract";
import type { Retention, ScopedThread } from "@awaken/contract/store";
import { wakeOrphaned } from "./orphaned-tasks.ts";
import { queueStranded } from "./send.ts";
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

  /** Ends runs that are dead letters, queues messages that wait for nobody, and wakes runs whose tasks were lost. */
  async mend(): Promise<void> {
    await this.#endUnended();
    await this.#wakeStranded();
    await this.#wakeAwaiting();
  }

  async #sweep(deletes: boolean): Promise<void> {
    await this.mend();
    const { store, retention } = this.#init;
    // In transactions of its own, as many as there are: no limit of one call is right for all of them.
    if (deletes && retention !== undefined) await store.sweep(retention);
  }

  async #endUnended(): Promise<void> {
    const { store, tenantOf } = this.#init;
    const { ask } = tenantOf(DEFAULT_SCOPE);
    for (const { scopeId, dispatch } of await ask("list dead letters", store.queue.listUnended(PAGE))) {
      if (dispatch.status === "dead-letter") await endDead(tenantOf(scopeId), dispatch);
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
    for (let seen = 0; seen < MAX_THREADS; seen += PAGE) {
      const last = this.#after[place];
      const threads = await ask(
        "list threads that nobody comes to",
        list({ ...(last === undefined ? undefined : { after: last }), limit: PAGE }),
      );
      for (const { scopeId, threadId } of threads) await mend(scopeId, threadId);
      this.#after[place] = threads.length < PAGE ? undefined : threads.at(-1);
      if (this.#after[place] === undefined) return;
    }
  }
}

/** Threads that may need something, and what is done about one. */
interface Walk {
  list(query: { readonly after?: ScopedThread; readonly limit: number }): Promise<readonly ScopedThread[]>;
  mend(scopeId: ScopeId, thread: ThreadId): Promise<void>;
}

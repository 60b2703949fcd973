import { errorMessage, type RunId, type ScopeId, type TaskEvent, type TaskRecord, type ThreadId } from "@awaken/contract";
import { Door, whenThere } from "../../stream/door.ts";
import { keyIn } from "../../stream/scope-key.ts";
import type { TableInit } from "./table-init.ts";
import type { TaskPost, ThreadTasks, ThreadTasksInit } from "./thread-tasks.ts";

/** How many runs that were cancelled are remembered. */
const REMEMBERED = 1_000;

/** Makes what there is of one thread. */
export type MakeThread = (init: ThreadTasksInit) => ThreadTasks;

/** One for all runtimes of the process. */
export const threads = new Door(() => import("./thread-tasks.ts"));

/** Background work of all tenants in this process. There is nothing in it for a thread without any. */
export class TaskTable {
  readonly init: TableInit;
  readonly #threads = new Map<string, ThreadTasks>();
  readonly #cancelled = new Set<string>();

  constructor(init: TableInit) {
    this.init = init;
  }

  /** How many threads have something here. */
  get size(): number {
    return this.#threads.size;
  }

  scoped(scopeId: ScopeId, post: TaskPost): TenantTasks {
    return new TenantTasks(this, scopeId, post);
  }

  /** Tells all code to stop. */
  close(): void {
    for (const thread of this.#threads.values()) thread.cancelAll("the runtime was closed");
  }

  find(scopeId: ScopeId, threadId: ThreadId): ThreadTasks | undefined {
    // Mostly there is none at all, and then no key is made.
    return this.#threads.size === 0 ? undefined : this.#threads.get(keyIn(scopeId, threadId));
  }

  open(scopeId: ScopeId, threadId: ThreadId, post: TaskPost, make: MakeThread): ThreadTasks {
    const key = keyIn(scopeId, threadId);
    const known = this.#threads.get(key);
    if (known !== undefined) return known;
    const onIdle = () => {
      if (this.#threads.get(key) === made) this.#threads.delete(key);
    };
    const made = make({ threadId, table: this.init, post, onIdle });
    this.#threads.set(key, made);
    return made;
  }

  /** Whether a thread of the tenant has code under this id. */
  isElsewhere(scopeId: ScopeId, taskId: string): boolean {
    const prefix = keyIn(scopeId, "");
    return [...this.#threads].some(([key, thread]) => key.startsWith(prefix) && thread.isLive(taskId));
  }

  rememberCancelled(scopeId: ScopeId, runId: RunId): void {
    this.#cancelled.add(keyIn(scopeId, runId));
    const [oldest] = this.#cancelled;
    if (this.#cancelled.size > REMEMBERED && oldest !== undefined) this.#cancelled.delete(oldest);
  }

  isCancelled(scopeId: ScopeId, runId: RunId): boolean {
    return this.#cancelled.has(keyIn(scopeId, runId));
  }
}

/** Those of one tenant. */
export class TenantTasks {
  readonly table: TaskTable;
  readonly scopeId: ScopeId;
  readonly #post: TaskPost;

  constructor(table: TaskTable, scopeId: ScopeId, post: TaskPost) {
    this.table = table;
    this.scopeId = scopeId;
    this.#post = post;
  }

  find(threadId: ThreadId): ThreadTasks | undefined {
    return this.table.find(this.scopeId, threadId);
  }

  open(threadId: ThreadId, make: MakeThread): ThreadTasks {
    return this.table.open(this.scopeId, threadId, this.#post, make);
  }

  /** Code ends with its process. */
  isLost({ taskId, ownerThreadId, childRunId, host }: TaskRecord): boolean {
    if (childRunId !== undefined || this.find(ownerThreadId)?.isLive(taskId) === true) return false;
    const { host: own, isGone } = this.table.init;
    return host === undefined || host === own || isGone(host);
  }

  /** News for a thread, whether a run is at work there or not. */
  tell(threadId: ThreadId, event: TaskEvent): void {
    const told = whenThere(threads.open(), ({ threadTasks }) => this.open(threadId, threadTasks).tell(event));
    if (!(told instanceof Promise)) return;
    told.catch((thrown) =>
      this.table.init.log.error(`news of a background task are lost: ${errorMessage(thrown)}`, { taskId: event.taskId }),
    );
  }
}

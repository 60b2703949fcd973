import { errorMessage, type ScopeId, type TaskEvent, type ThreadId } from "@awaken/contract";
import { Door, whenThere } from "../../stream/door.ts";
import { keyIn } from "../../stream/scope-key.ts";
import type { TableInit } from "./table-init.ts";
import type { TasksHere, Tenant } from "./tenant.ts";
import type { TaskPost, ThreadTasks } from "./thread-tasks.ts";

/** One for all runtimes of the process. */
export const threads = new Door(() => import("./tenant-work.ts"));

/** Background work of all tenants in this process. What is done with it stands in `tenant-work.ts`. */
export class TaskTable implements TasksHere {
  readonly init: TableInit;
  readonly threads = new Map<string, ThreadTasks>();
  readonly cancelled = new Set<string>();

  constructor(init: TableInit) {
    this.init = init;
  }

  scoped(scopeId: ScopeId, post: TaskPost): TenantTasks {
    return new TenantTasks(this, scopeId, post);
  }

  /** Tells all code to stop. */
  close(): void {
    for (const thread of this.threads.values()) thread.cancelAll("the runtime was closed");
  }

  find(scopeId: ScopeId, threadId: ThreadId): ThreadTasks | undefined {
    // Mostly there is none at all, and then no key is made.
    return this.threads.size === 0 ? undefined : this.threads.get(keyIn(scopeId, threadId));
  }
}

/** Those of one tenant. */
export class TenantTasks implements Tenant {
  readonly table: TaskTable;
  readonly scopeId: ScopeId;
  readonly post: TaskPost;

  constructor(table: TaskTable, scopeId: ScopeId, post: TaskPost) {
    this.table = table;
    this.scopeId = scopeId;
    this.post = post;
  }

  find(threadId: ThreadId): ThreadTasks | undefined {
    return this.table.find(this.scopeId, threadId);
  }

  /** News for a thread, whether a run is at work there or not. */
  tell(threadId: ThreadId, event: TaskEvent): void {
    const told = whenThere(threads.open(), ({ openThread }) => openThread(this, threadId).tell(event));
    if (!(told instanceof Promise)) return;
    told.catch((thrown) =>
      this.table.init.log.error(`news of a background task are lost: ${errorMessage(thrown)}`, { taskId: event.taskId }),
    );
  }
}

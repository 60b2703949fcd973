import type { ScopeId, ThreadId } from "@awaken/contract";
import type { TableInit } from "./table-init.ts";
import type { TaskPost, ThreadTasks } from "./thread-tasks.ts";

/** What there is of background work in this process. */
export interface TasksHere {
  readonly init: TableInit;
  /** By tenant and thread. There is nothing in it for a thread without any. */
  readonly threads: Map<string, ThreadTasks>;
  /** Runs that were cancelled, by tenant. */
  readonly cancelled: Set<string>;
}

/** One tenant's. */
export interface Tenant {
  readonly table: TasksHere;
  readonly scopeId: ScopeId;
  readonly post: TaskPost;
  find(threadId: ThreadId): ThreadTasks | undefined;
}

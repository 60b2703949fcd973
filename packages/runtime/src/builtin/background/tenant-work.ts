import type { RunId, TaskRecord, ThreadId } from "@awaken/contract";
import { keyIn } from "../../stream/scope-key.ts";
import type { Tenant } from "./tenant.ts";
import { ThreadTasks } from "./thread-tasks.ts";

/** How many runs that were cancelled are remembered. */
const REMEMBERED = 1_000;

/** What there is of a thread, made if need be. */
export function openThread({ table, scopeId, post }: Tenant, threadId: ThreadId): ThreadTasks {
  const { threads } = table;
  const key = keyIn(scopeId, threadId);
  const known = threads.get(key);
  if (known !== undefined) return known;
  const onIdle = () => {
    if (threads.get(key) === made) threads.delete(key);
  };
  const made = new ThreadTasks({ threadId, table: table.init, post, onIdle });
  threads.set(key, made);
  return made;
}

/** Whether a thread of the tenant has code under this id. */
export function isElsewhere({ table, scopeId }: Tenant, taskId: string): boolean {
  const prefix = keyIn(scopeId, "");
  return [...table.threads].some(([key, thread]) => key.startsWith(prefix) && thread.isLive(taskId));
}

export function rememberCancelled({ table: { cancelled }, scopeId }: Tenant, runId: RunId): void {
  cancelled.add(keyIn(scopeId, runId));
  const [oldest] = cancelled;
  if (cancelled.size > REMEMBERED && oldest !== undefined) cancelled.delete(oldest);
}

export const isCancelled = ({ table, scopeId }: Tenant, runId: RunId): boolean => table.cancelled.has(keyIn(scopeId, runId));

/** Code ends with its process. */
export function isLost(tenant: Tenant, { taskId, ownerThreadId, childRunId, host }: TaskRecord): boolean {
  if (childRunId !== undefined || tenant.find(ownerThreadId)?.isLive(taskId) === true) return false;
  const { host: own, isGone } = tenant.table.init;
  return host === undefined || host === own || isGone(host);
}

import { AwakenError, dispatchId, messageId, type PersistedState, type TaskRecord, type ThreadId } from "@awaken/contract";
import { isLost } from "../builtin/background/tenant-work.ts";
import { endIn, taskMessage } from "../loop/task-message.ts";
import { isRunning } from "../state/background-tasks.ts";
import { lostTask, storedTasks } from "../state/task-records.ts";
import { inOne, type Ports } from "./in-one.ts";
import { listOpen } from "./open-dispatches.ts";
import { NEWS } from "./parent-wake.ts";
import type { Tenant } from "./tenant.ts";

/** Those that are known here to have ended with their process. */
const lostOf = ({ parts }: Tenant, state: PersistedState | undefined): readonly TaskRecord[] =>
  storedTasks(state).filter((task) => isRunning(task) && isLost(parts.tasks, task));

/**
 * A run that waits for its tasks, some of which ended with their process, is woken: it reads that they are lost, and goes on. The news are
 * on record with the dispatch, as those of any task: whoever claims it may not be able to tell what became of that process.
 */
export async function wakeOrphaned(tenant: Tenant, thread: ThreadId): Promise<void> {
  const { queue, ask } = tenant;
  if (lostOf(tenant, await ask("load the state of a thread", queue.threads.loadState(thread))).length === 0) return;
  await inOne(tenant, "wake a run whose tasks are lost", (ports) => postLost(tenant, ports, thread)).catch((thrown: unknown) => {
    // Another node was faster.
    if (!AwakenError.is(thrown) || thrown.code !== "storage_already_exists") throw thrown;
  });
}

async function postLost(tenant: Tenant, ports: Ports, thread: ThreadId): Promise<void> {
  const { ids, maxAttempts } = tenant;
  const openId = (await ports.threads.load(thread))?.openRunId;
  const open = openId === undefined ? undefined : await ports.runs.load(openId);
  if (open?.status !== "waiting" || open.waiting.reason !== "awaiting-tasks" || (await listOpen(ports.dispatches, thread)).length > 0)
    return;
  const lost = lostOf(tenant, await ports.threads.loadState(thread));
  if (lost.length === 0) return;
  const { runId } = open;
  const told = new Set((await ports.pending.load(thread)).entries.map(({ message }) => endIn(message)));
  const append = lost
    .filter(({ taskId }) => !told.has(taskId))
    .map(({ taskId }) => ({ message: taskMessage(messageId(ids()), lostTask(taskId)), deliveryMode: NEWS }));
  const dispatch = { dispatchId: dispatchId(ids()), threadId: thread, runId, maxAttempts, dedupeKey: `orphaned:${runId}` };
  await ports.commit({ threadId: thread, runId, pending: { append }, dispatch: { type: "enqueue", dispatch } });
}

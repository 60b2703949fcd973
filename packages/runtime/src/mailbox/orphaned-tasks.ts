import { AwakenError, dispatchId, type ThreadId } from "@awaken/contract";
import { isRunning, storedTasks } from "../state/background-tasks.ts";
import { inOne } from "./in-one.ts";
import { listOpen } from "./open-dispatches.ts";
import type { Tenant } from "./tenant.ts";

/** A run that waits for its tasks, some of which ended with their process, is woken: it reads that they are lost, and goes on. */
export async function wakeOrphaned(tenant: Tenant, thread: ThreadId): Promise<void> {
  const { queue, ask, ids, maxAttempts, parts } = tenant;
  const head = await ask("load a thread", queue.threads.loadHead(thread));
  if (!storedTasks(head?.state).some((task) => isRunning(task) && parts.tasks.isLost(task))) return;
  await inOne(tenant, "wake a run whose tasks are lost", async (ports) => {
    const openId = (await ports.threads.load(thread))?.openRunId;
    const open = openId === undefined ? undefined : await ports.runs.load(openId);
    if (open?.status !== "waiting" || (await listOpen(ports.dispatches, thread)).length > 0) return;
    const { runId } = open;
    await ports.dispatches.enqueue({ dispatchId: dispatchId(ids()), threadId: thread, runId, maxAttempts, dedupeKey: `orphaned:${runId}` });
  }).catch((thrown: unknown) => {
    // Another node was faster.
    if (!AwakenError.is(thrown) || thrown.code !== "storage_already_exists") throw thrown;
  });
}

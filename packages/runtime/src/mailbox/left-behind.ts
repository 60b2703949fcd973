import { AwakenError, dispatchId, type RunId, type RunRecord, runId, type ThreadId } from "@awaken/contract";
import { type PendingRecord, selectPending } from "@awaken/contract/store";
import { isNews } from "../loop/task-news.ts";
import { inOne, type Ports } from "./in-one.ts";
import { listOpen } from "./open-dispatches.ts";
import type { Tenant } from "./tenant.ts";

/**
 * One dispatch is enough for all that was sent: the run that it starts reads all of it. One that is claimed may have looked already; so
 * there are two keys, and what comes while one is claimed has the other.
 */
export const SEND_KEYS = ["messages", "more-messages"] as const;

/** The run of the thread that has begun and is not over, or is to begin. */
export async function openRun({ threads, runs }: Pick<Ports, "threads" | "runs">, thread: ThreadId): Promise<RunRecord | undefined> {
  const id = (await threads.load(thread))?.openRunId;
  return id === undefined ? undefined : runs.load(id);
}

const isFree = async ({ dispatches }: Ports, thread: ThreadId): Promise<boolean> => (await listOpen(dispatches, thread)).length === 0;

/** Nobody comes to read what waits there: a run of its own does, unless somebody has come meanwhile, or no new run may. */
export async function queueStranded(tenant: Tenant, thread: ThreadId): Promise<void> {
  await inOne(tenant, "queue messages that nobody reads", (ports) => queueLeft(tenant, ports, thread, () => true)).catch(
    (thrown: unknown) => {
      // Another node was faster.
      if (!AwakenError.is(thrown) || thrown.code !== "storage_already_exists") throw thrown;
    },
  );
}

/** `isReason`: whether a run begins for it; it reads the others too. */
async function queueLeft(
  { ids, maxAttempts }: Tenant,
  ports: Ports,
  thread: ThreadId,
  isReason: (entry: PendingRecord) => boolean,
): Promise<void> {
  const open = await openRun(ports, thread);
  if (open?.status === "running" || open?.status === "waiting" || !(await isFree(ports, thread))) return;
  const id = runId(ids());
  const { entries } = await ports.pending.load(thread);
  if (!selectPending(entries, "new-run", id).some(isReason)) return;
  await ports.dispatches.enqueue({ dispatchId: dispatchId(id), threadId: thread, runId: id, maxAttempts, dedupeKey: SEND_KEYS[0] });
}

/** What was to come instead of the run that waits there is gone, and what was to wake that one may have gone before: it looks again. */
export async function wakeWaiting({ ids, maxAttempts }: Tenant, ports: Ports, thread: ThreadId): Promise<void> {
  const open = await openRun(ports, thread);
  if (open?.status !== "waiting" || open.waiting.tickets.length > 0 || !(await isFree(ports, thread))) return;
  await ports.dispatches.enqueue({ dispatchId: dispatchId(ids()), threadId: thread, runId: open.runId, maxAttempts });
}

/** The same; and where none waits, what others sent has a new run. News wait for whoever comes. */
export async function lookAfter(tenant: Tenant, ports: Ports, thread: ThreadId): Promise<void> {
  await wakeWaiting(tenant, ports, thread);
  await queueLeft(tenant, ports, thread, (entry) => !isNews(entry));
}

/**
 * What had to wait for a run that was in front of it, and is gone, need not wait for its time: it is due, and so is what is left of that run
 * in the queue. What failed itself waits, and what stands behind it.
 */
export async function callUp({ holdInit }: Tenant, { dispatches }: Ports, thread: ThreadId, gone: RunId): Promise<void> {
  const { consumer, leaseMs } = holdInit;
  for (const row of await dispatches.list(thread, { statuses: ["queued"] })) {
    if (row.status !== "queued") continue;
    if (row.isPutBack !== true && row.runId !== gone) {
      if (row.attemptCount > 0) return;
      continue;
    }
    const claim = await dispatches.claimDispatch(row.dispatchId, { consumer, leaseMs });
    // Somebody is at work on the thread, or it was interrupted.
    if (claim === undefined) return;
    await dispatches.release(claim.dispatch);
  }
}

import { AwakenError, type ThreadId } from "@awaken/contract";
import { inTime } from "../stream/in-time.ts";
import { within } from "../stream/within.ts";
import type { ActiveRun } from "./active-runs.ts";
import type { TenantParts } from "./run-parts.ts";

/** How long whoever is at work has for his last words. */
export const RELEASE_MS = 5_000;

export const didNotStop = (threadId: ThreadId): AwakenError =>
  new AwakenError("thread_already_running", `thread already has an active run: ${threadId}, which did not stop within ${RELEASE_MS} ms`, {
    details: { threadId },
  });

/** When the run that was told to stop has left its thread. Rejects when it does not in time, or nobody waits for that any more. */
export async function freed(parts: TenantParts, run: ActiveRun, signal: AbortSignal | undefined): Promise<void> {
  await within(parts, run.released, RELEASE_MS, signal ?? parts.closing);
  if (signal?.aborted) throw new AwakenError("cancelled", "nobody waits for the thread any more");
  if (parts.active.onThread(run.threadId) === run) throw didNotStop(run.threadId);
}

/** Whether the run that was told to stop has left its thread by then. */
export const isReleased = (parts: TenantParts, run: ActiveRun, timeoutMs: number): Promise<boolean> =>
  inTime(parts, run.released, timeoutMs);

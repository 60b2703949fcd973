import type { ThreadId } from "@awaken/contract";
import { resumeOrder } from "../loop/resume-order.ts";
import type { RunParts } from "./run-parts.ts";
import { startRun } from "./start-run.ts";

/**
 * Where no queue wakes anybody: the run that waits on the thread for its tasks goes on here and reads what there is. All that comes before it
 * has begun is read with it. A run that is at work reads it itself, or is waited for.
 */
export async function wakeThread(parts: RunParts, threadId: ThreadId): Promise<void> {
  const { active, records, tasks, closing } = parts;
  for (;;) {
    await active.onThread(threadId)?.released;
    const open = (await records.threads.loadHead(threadId))?.openRun;
    // Somebody was faster, or has read it meanwhile.
    if (active.onThread(threadId) !== undefined) continue;
    if (closing.aborted || tasks.find(threadId)?.hasUnread !== true) return;
    if (open?.status !== "waiting" || open.waiting.reason !== "awaiting-tasks") return;
    const order = resumeOrder(open, []);
    await startRun(parts, { ...order, trace: { ...order.trace, runMode: "internal-wake" } }).result;
  }
}

import { AwakenError, type ThreadId } from "@awaken/contract";
import type { Tenant } from "./tenant.ts";

/** Nothing may overtake a barrier: whoever would is refused before he has changed anything. */
export async function refuseBarrier({ queue, ask }: Tenant, threadId: ThreadId): Promise<void> {
  const { entries } = await ask("load pending messages", queue.pending.load(threadId));
  const barrier = entries.find(({ deliveryMode }) => deliveryMode.barrier);
  if (barrier === undefined) return;
  throw new AwakenError(
    "pending_selection_conflict",
    `on thread '${threadId}' the message '${barrier.pendingId}' waits, which nothing may overtake`,
    { details: { threadId, pendingId: barrier.pendingId } },
  );
}

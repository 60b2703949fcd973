import type { ThreadId } from "@awaken/contract";
import type { DispatchRecord, DispatchStatus, DispatchStore } from "@awaken/contract/store";
import type { Tenant } from "./tenant.ts";

const OPEN: readonly DispatchStatus[] = ["queued", "claimed"];
const PAGE = 100;

/** What is claimed or queued on the thread, inside of a transaction. */
export async function listOpen(dispatches: Pick<DispatchStore, "list">, threadId: ThreadId): Promise<readonly DispatchRecord[]> {
  const all: DispatchRecord[] = [];
  for (;;) {
    const page = await dispatches.list(threadId, { statuses: OPEN, limit: PAGE, offset: all.length });
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

export const openDispatches = ({ queue, ask }: Pick<Tenant, "queue" | "ask">, threadId: ThreadId): Promise<readonly DispatchRecord[]> =>
  ask("list dispatches", listOpen(queue.dispatches, threadId));

import { AwakenError, asItIsNow, type Message, messageId, type ThreadId, threadId } from "@awaken/contract";
import type { DeliveryMode, PendingQueue, PendingRecord } from "@awaken/contract/store";
import { isNews } from "../loop/task-news.ts";
import { type MessageInput, toMessages } from "../run/message-input.ts";
import type { Tenant } from "./tenant.ts";

/** An edit of a message that no run has read: `version_conflict` when somebody else was faster. */
export interface PendingEditInput {
  /** Of the entry, as it was read. */
  readonly revision: number;
  /** What it says from now on; its id stays. */
  readonly message?: Pick<MessageInput, "role" | "content">;
  /** When it may enter a run from now on; what is left out stays. */
  readonly deliveryMode?: Partial<DeliveryMode>;
}

/**
 * Messages that wait on a thread: until a run reads them they can be edited, taken back and moved. One that was read is `already_consumed`.
 * News of a task in the background can be moved alone: else they are refused with `storage_validation`, since the thread has the task
 * running until they are read.
 */
export interface PendingVerbs {
  /** In their order, with the revision of the whole queue. */
  list(thread: string): Promise<PendingQueue>;
  /** Changes what it says, or when it may enter a run. */
  edit(thread: string, message: string, edit: PendingEditInput): Promise<PendingRecord>;
  /** Takes it back, at the revision that was read. */
  retract(thread: string, message: string, revision: number): Promise<void>;
  /** All of them, in another order. */
  reorder(thread: string, order: readonly string[], revision: string): Promise<PendingQueue>;
}

function messageOf(tenant: Tenant, id: string, given: PendingEditInput["message"]): { readonly message: Message } | undefined {
  if (given === undefined) return undefined;
  // One that says another id is refused by the store.
  const [message] = toMessages([{ id, ...given }], tenant.ids);
  return message === undefined ? undefined : { message };
}

/** What waits under an id stays news, or stays none: it may be looked at before. */
async function refuseNews({ queue, ask }: Tenant, thread: ThreadId, id: string): Promise<void> {
  const { entries } = await ask("load pending messages", queue.pending.load(thread));
  if (!entries.some((entry) => entry.pendingId === id && isNews(entry))) return;
  throw new AwakenError("storage_validation", `message '${id}' is news of a task: it can neither be edited nor taken back`, {
    details: { threadId: thread, pendingId: id },
  });
}

export function pendingVerbs(tenant: Tenant): PendingVerbs {
  const { queue, ask } = tenant;
  return {
    list: async (thread) => ask("load pending messages", queue.pending.load(threadId(thread))),
    edit: async (thread, id, { revision, message, deliveryMode }) => {
      const mode = deliveryMode === undefined ? undefined : { deliveryMode: asItIsNow(deliveryMode) };
      const edit = { revision, ...messageOf(tenant, id, message), ...mode };
      await refuseNews(tenant, threadId(thread), id);
      return ask("edit a message", queue.pending.update(threadId(thread), messageId(id), edit));
    },
    retract: async (thread, id, revision) => {
      await refuseNews(tenant, threadId(thread), id);
      await ask("retract a message", queue.pending.retract(threadId(thread), messageId(id), revision));
    },
    reorder: async (thread, order, revision) =>
      ask("reorder messages", queue.pending.reorder(threadId(thread), order.map(messageId), revision)),
  };
}

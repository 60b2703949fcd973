import { type Message, messageId, threadId } from "@awaken/contract";
import type { DeliveryMode, PendingQueue, PendingRecord } from "@awaken/contract/store";
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

/** Messages that wait on a thread: until a run reads them they can be edited, taken back and moved. One that was read is `already_consumed`. */
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

export function pendingVerbs(tenant: Tenant): PendingVerbs {
  const { queue, ask } = tenant;
  return {
    list: async (thread) => ask("load pending messages", queue.pending.load(threadId(thread))),
    edit: async (thread, id, { revision, message, deliveryMode }) => {
      const edit = { revision, ...messageOf(tenant, id, message), ...(deliveryMode === undefined ? undefined : { deliveryMode }) };
      return ask("edit a message", queue.pending.update(threadId(thread), messageId(id), edit));
    },
    retract: async (thread, id, revision) => {
      await ask("retract a message", queue.pending.retract(threadId(thread), messageId(id), revision));
    },
    reorder: async (thread, order, revision) =>
      ask("reorder messages", queue.pending.reorder(threadId(thread), order.map(messageId), revision)),
  };
}

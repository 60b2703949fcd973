import type { ClosedTicket, MessageId, ToolCallState } from "@awaken/contract";

/** What is on record of a call that nobody can decide about any more; nothing when it has been decided. */
export function closedTicket({ status, suspension, id }: ToolCallState, closedBy?: MessageId): readonly ClosedTicket[] {
  if (status !== "suspended" || suspension === undefined) return [];
  return [{ ticketId: suspension.id, toolCallId: id, ...(closedBy === undefined ? {} : { closedBy }) }];
}

import type { MessageId, TicketId, ToolCall, ToolResult } from "@awaken/contract";

/** A call of an earlier activation, and the ticket that it waited with, if it did. */
export interface EarlierCall {
  readonly call: Pick<ToolCall, "id" | "name">;
  /** The assistant message that asked for it. */
  readonly messageId: MessageId;
  readonly ticketId: TicketId | undefined;
}

/** What became of it. */
export type CallEnding = ToolResult | { readonly type: "denied"; readonly reason: string | undefined };

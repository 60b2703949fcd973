import { messageId, type ToolCall, type ToolMessage, type ToolResult } from "@awaken/contract";
import type { LiveCall } from "./live-call.ts";
import { type MessageMaker, toolMessage } from "./messages.ts";

// What the log says of calls that an earlier activation left open.

export const SUPERSEDED = "[tool call superseded]";

export function retraction(
  ctx: Pick<MessageMaker, "ids" | "identity">,
  call: { readonly id: ToolCall["id"]; readonly name: string },
): ToolMessage {
  return {
    id: messageId(ctx.ids()),
    role: "tool",
    visibility: "internal",
    toolCallId: call.id,
    toolName: call.name,
    status: "error",
    content: [{ type: "text", text: SUPERSEDED }],
    metadata: { runId: ctx.identity.runId },
  };
}

/** The result of a call of an earlier activation, whose id may have been given again since. */
export function lateResult(ctx: MessageMaker, call: ToolCall & Pick<LiveCall, "messageId" | "edited">, result: ToolResult): ToolMessage {
  const message = toolMessage(ctx, call, result, call.edited);
  return { ...message, metadata: { ...message.metadata, callMessageId: call.messageId } };
}

import type { MessageId, ToolCall, ToolFailure, ToolResult } from "@awaken/contract";
import type { RunLedger } from "../commit/run-ledger.ts";

/** What a model reads about a call that was started and of which nobody knows more. It never vanishes: it would only be made again. */
export const lostResult = (name: string): ToolFailure => ({
  type: "error",
  code: "unknown_outcome",
  message: `'${name}' was started and its outcome is unknown: it may have happened. Do not call it again before that is found out.`,
});

/**
 * Closes a call that nobody brings to its end any more, with what is known of it. When nobody knows (`undefined`), the model reads that,
 * and its row in the ledger stays open for whoever finds out.
 */
export function closeCall(
  ledger: RunLedger | undefined,
  { messageId, call }: { readonly messageId: MessageId; readonly call: Pick<ToolCall, "id" | "name"> },
  result: ToolResult | undefined,
): ToolResult {
  if (result === undefined) ledger?.leaveOpen({ messageId, call });
  else ledger?.settle({ messageId, call }, result);
  return result ?? lostResult(call.name);
}

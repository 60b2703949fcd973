import type { ToolCallContent } from "../content.ts";
import { type Message, messageToolCalls, type ToolMessage } from "../message.ts";
import type { SequencedMessage } from "./effective-view.ts";

const isMarked = ({ metadata }: Exclude<Message, ToolMessage>): boolean =>
  metadata?.compaction !== undefined || metadata?.rewind !== undefined;

/** A result that stands behind the message that asked for it, and changes nothing of that. */
function isOwnResult({ status, visibility, metadata = {} }: ToolMessage, asking: Message | undefined): boolean {
  const { runId, callMessageId = asking?.id, edited } = metadata;
  const isPlain = status !== "pending" && visibility === undefined && edited === undefined;
  return isPlain && callMessageId === asking?.id && runId === asking?.metadata?.runId;
}

/**
 * Whether a log is its own effective view from this row on, as it is up to there: each call has its result right behind it, in order, and no row stands for others
 * or takes them back.
 */
export function isPlainLog(log: readonly SequencedMessage[], from = 0): boolean {
  let asking: Message | undefined;
  let calls: readonly ToolCallContent[] = [];
  let answered = 0;
  for (const { message } of log.slice(from)) {
    if (message.role === "tool") {
      if (calls[answered]?.id !== message.toolCallId || !isOwnResult(message, asking)) return false;
      answered++;
    } else {
      if (answered < calls.length || isMarked(message)) return false;
      asking = message;
      calls = messageToolCalls(message);
      answered = 0;
      // A call that is there twice is shown once.
      if (new Set(calls.map(({ id }) => id)).size < calls.length) return false;
    }
  }
  return answered === calls.length;
}

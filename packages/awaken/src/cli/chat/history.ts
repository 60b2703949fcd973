import { isJsonObject, type JsonValue, type Message, messageText } from "@awaken/contract";
import { type EditedCall, editOf } from "../executed-inputs.ts";
import { clean } from "../sanitize.ts";
import type { ToolState } from "./block.ts";
import type { Conversation } from "./conversation.ts";
import { cutText, RESULT_LIMIT } from "./text-limits.ts";

const WITHDRAWN = "withdrawn by a later message";
/** The log has the words that the model read, and no code: with these a failure begins that is another end than `failed`. */
const ENDS = [
  ["Denied:", "denied"],
  ["Cancelled:", "cancelled"],
  ["Interrupted:", "cancelled"],
] as const;

function parseObject(text: string): JsonValue | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An answer that is data is shown as data, as it was when it came. */
function showText(conversation: Conversation, text: string): void {
  const value = parseObject(text);
  if (value !== undefined) conversation.output(value);
  else if (text.trim() !== "") conversation.answer(text);
}

function toolState(message: Extract<Message, { role: "tool" }>): ToolState {
  if (message.visibility === "internal") return { type: "over", outcome: "cancelled", result: WITHDRAWN };
  if (message.status === "pending") return { type: "waiting" };
  const text = messageText(message);
  const failed = ENDS.find(([word]) => text.startsWith(word))?.[1] ?? "failed";
  return {
    type: "over",
    outcome: message.status === "success" ? "succeeded" : failed,
    result: cutText(clean(text), RESULT_LIMIT),
  };
}

function showAssistant(
  conversation: Conversation,
  { id, content }: Extract<Message, { role: "assistant" }>,
  edited: readonly EditedCall[],
): void {
  for (const part of content) {
    switch (part.type) {
      case "text":
        showText(conversation, part.text);
        break;
      case "tool-call":
        conversation.call(part.id, part.name, part.input, editOf(edited, id, part)?.input);
        break;
      case "tool-result":
        conversation.callState(part.id, {
          type: "over",
          outcome: part.isError === true ? "failed" : "succeeded",
          result: cutText(clean(JSON.stringify(part.output)), RESULT_LIMIT),
        });
        break;
      case "reasoning":
        break;
      default:
        conversation.note("info", `[${part.type}]`);
    }
  }
}

/** A log as it stands in the store, oldest first. What only the model reads is left out. */
export function showHistory(
  conversation: Conversation,
  records: readonly { readonly message: Message }[],
  edited: readonly EditedCall[],
): void {
  for (const { message } of records) {
    if (message.role === "tool") conversation.callState(message.toolCallId, toolState(message));
    else if (message.visibility === "internal" || message.metadata?.compaction !== undefined) continue;
    else if (message.role === "assistant") showAssistant(conversation, message, edited);
    else if (message.role === "user") conversation.user(messageText(message) || "[no text]", "asked");
  }
}

import { type Message, type MessageId, messageText, type SystemMessage } from "@awaken/contract";

const OPEN = "<conversation-summary>";
const CLOSE = "</conversation-summary>";

/** What stands for the messages that a compaction replaced. The loop adds which rows of the log they are. */
export function summaryMessage(id: MessageId, text: string): SystemMessage {
  const body = text.replaceAll(OPEN, "").replaceAll(CLOSE, "").trim();
  return { id, role: "system", visibility: "internal", content: [{ type: "text", text: `${OPEN}\n${body}\n${CLOSE}` }] };
}

/** The text of a summary; undefined for every other message. */
export function summaryText(message: Message): string | undefined {
  if (message.role !== "system" || message.visibility !== "internal") return undefined;
  const text = messageText(message);
  return text.startsWith(OPEN) && text.endsWith(CLOSE) ? text.slice(OPEN.length, -CLOSE.length).trim() : undefined;
}

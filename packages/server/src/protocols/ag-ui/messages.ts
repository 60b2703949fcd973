import { type Content, type JsonValue, type Message, messageText, type ToolMessage } from "@awaken/contract";
import { isShown, notShown } from "../../routes/shown-media.ts";
import type { AgUiDialect, AgUiMessage, AgUiToolCall, ResultContent } from "./frame.ts";

/** Unique on its thread: the vendor's id of a call is not. */
export const resultIdOf = (messageId: string, toolCallId: string): string => `${messageId}_${toolCallId}`;

function mediaOf(part: Content): JsonValue | undefined {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
    case "audio":
    case "video":
    case "document": {
      if (!isShown(part)) return { type: "text", text: notShown(part) };
      const { source } = part;
      const from =
        source.type === "base64"
          ? { type: "data", value: source.data, mimeType: source.mediaType }
          : { type: "url", value: source.url, ...(source.mediaType === undefined ? undefined : { mimeType: source.mediaType }) };
      return { type: part.type, source: from };
    }
    default:
      return undefined;
  }
}

export const errorText = (text: string): string => (text.trim() === "" ? "tool error" : text);

/** What a tool gave: its text, and what the client can show beside it. */
export function resultContent(text: string, media: readonly Content[], dialect: AgUiDialect): ResultContent {
  const shown = dialect === "1.0" ? media.flatMap((part) => mediaOf(part) ?? []) : [];
  return shown.length === 0 ? text : [{ type: "text", text }, ...shown];
}

const contentOf = (message: Message): JsonValue => {
  const content: readonly Content[] = message.content;
  return content.every(({ type }) => type === "text") ? messageText(message) : content.flatMap((part) => mediaOf(part) ?? []);
};

const callOf = (id: string, name: string, input: JsonValue): AgUiToolCall => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(input) },
});

/** One message for each text of a turn, as the stream had them: calls belong to the one before them. */
function assistantOf(message: Message): readonly AgUiMessage[] {
  const all: { id: string; role: "assistant"; content?: string; toolCalls?: AgUiToolCall[] }[] = [];
  const content: readonly Content[] = message.content;
  for (const part of content) {
    const last = all.at(-1);
    if (part.type === "text" && part.text !== "") {
      if (last === undefined || last.toolCalls !== undefined)
        all.push({ id: nthId(message.id, all.length), role: "assistant", content: part.text });
      else last.content = (last.content ?? "") + part.text;
    } else if (part.type === "tool-call" && part.executed === undefined) {
      const owner = last ?? { id: message.id, role: "assistant" as const };
      if (last === undefined) all.push(owner);
      owner.toolCalls = [...(owner.toolCalls ?? []), callOf(part.id, part.name, part.input)];
    }
  }
  return all;
}

/** The first text of a turn has the id of its message. */
export const nthId = (messageId: string, n: number): string => (n === 0 ? messageId : `${messageId}_t${n + 1}`);

const toolOf = (message: ToolMessage, asker: string, dialect: AgUiDialect): AgUiMessage => {
  const isError = message.status === "error";
  const text = isError ? errorText(messageText(message)) : messageText(message);
  const media = message.content.filter(({ type }) => type !== "text");
  return {
    id: resultIdOf(asker, message.toolCallId),
    role: "tool",
    toolCallId: message.toolCallId,
    content: resultContent(text, media, dialect),
    ...(isError ? { error: text } : undefined),
  };
};

/** What is in view of a log, from the oldest row on: each call has the last result that it was given. */
export function agUiMessages(rows: readonly Message[], dialect: AgUiDialect): readonly AgUiMessage[] {
  const messages: AgUiMessage[] = [];
  const askers = new Map<string, string>();
  for (const message of rows) {
    if (message.role === "tool") {
      const asker = message.metadata?.callMessageId ?? askers.get(message.toolCallId);
      if (asker === undefined) continue;
      const result = toolOf(message, asker, dialect);
      const at = messages.findLastIndex(({ id }) => id === result.id);
      if (message.visibility === "internal" || message.status === "pending") continue;
      if (at === -1) messages.push(result);
      else messages[at] = result;
      continue;
    }
    if (message.visibility === "internal") continue;
    if (message.role === "assistant") {
      for (const part of message.content) if (part.type === "tool-call") askers.set(part.id, message.id);
      messages.push(...assistantOf(message));
    } else messages.push({ id: message.metadata?.clientId ?? message.id, role: message.role, content: contentOf(message) });
  }
  return messages;
}

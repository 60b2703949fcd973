import type { Content, Message } from "@awaken/contract";
import { previewText } from "../../prompt/preview.ts";

const RESULT_LIMITS = { thresholdTokens: 2048, previewChars: 1600, previewLines: 24 };

function partText(part: Content): string {
  switch (part.type) {
    case "text":
      return previewText(part.text, RESULT_LIMITS);
    case "tool-call":
      return `[calls ${part.name} with ${JSON.stringify(part.input)}]`;
    case "tool-result":
      return `[result of ${part.name}: ${JSON.stringify(part.output)}]`;
    case "reasoning":
      return "";
    default:
      return `[${part.type}]`;
  }
}

function speaker(message: Message): string {
  if (message.role === "tool") return message.status === "error" ? `tool ${message.toolName} (failed)` : `tool ${message.toolName}`;
  return message.role;
}

/** A conversation as text for a summariser. Internal messages are left out; a message that says nothing is too. */
export function renderTranscript(messages: readonly Message[]): string {
  const lines: string[] = [];
  for (const message of messages) {
    if (message.visibility === "internal") continue;
    const texts = message.content.map(partText).filter((text) => text.trim() !== "");
    if (texts.length > 0) lines.push(`${speaker(message)}: ${texts.join("\n")}`);
  }
  return lines.join("\n\n");
}

import type { ArtifactLimits, Message, ToolContent, ToolMessage } from "@awaken/contract";
import { estimateMessage, estimateText } from "./estimate.ts";

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;

/** At most so many characters and lines from the start, never half of a character. */
function head(text: string, chars: number, lines: number): string {
  let end = Math.min(chars, text.length);
  if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
  for (let line = 0, from = 0; line < lines; line++) {
    const at = text.indexOf("\n", from);
    if (at === -1 || at >= end) return text.slice(0, end);
    if (line === lines - 1) return text.slice(0, at);
    from = at + 1;
  }
  return text.slice(0, end);
}

/** The beginning of a long text and how long the whole is; a text that is short enough comes back as it is. */
export function previewText(text: string, limits: ArtifactLimits): string {
  const tokens = estimateText(text);
  if (tokens < limits.thresholdTokens) return text;
  const shown = head(text, limits.previewChars, limits.previewLines);
  const preview = `${shown}\n[preview: ${shown.length} of ${text.length} characters, about ${tokens} tokens in full]`;
  return preview.length < text.length ? preview : text;
}

function previewResult(message: ToolMessage, limits: ArtifactLimits): ToolMessage {
  const content = message.content.map((part): ToolContent => {
    if (part.type !== "text") return part;
    const text = previewText(part.text, limits);
    return text === part.text ? part : { ...part, text };
  });
  return content.every((part, index) => part === message.content[index]) ? message : { ...message, content };
}

/** Shortens the long texts of tool results. A result is shortened once in its life; a list without long ones comes back itself. */
export function createPreviewer(limits: ArtifactLimits): (messages: readonly Message[]) => readonly Message[] {
  const previews = new WeakMap<Message, Message>();
  const preview = (message: Message): Message => {
    // A whole message that is light has no heavy text.
    if (message.role !== "tool" || estimateMessage(message) < limits.thresholdTokens) return message;
    const before = previews.get(message);
    if (before !== undefined) return before;
    const made = previewResult(message, limits);
    previews.set(message, made);
    return made;
  };
  return (messages) => {
    const first = messages.findIndex((message) => preview(message) !== message);
    return first === -1 ? messages : [...messages.slice(0, first), ...messages.slice(first).map(preview)];
  };
}

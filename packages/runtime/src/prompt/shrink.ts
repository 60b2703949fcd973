import type { AssistantContent, InferenceRequest, Message, ToolContent, UserContent } from "@awaken/contract";
import { estimateInstructions, estimateMessages, estimateTools } from "./estimate.ts";
import { openWithUser } from "./opening.ts";
import { createPreviewer } from "./preview.ts";
import { truncateMessages } from "./truncate.ts";

export interface ModelWindow {
  readonly contextWindow: number | undefined;
  readonly maxOutputTokens: number | undefined;
}

/** Kept free for the answer, unless the model answers less or its window is small. */
const OUTPUT_TOKENS = 16_384;

/** Long results first become readable beginnings, then lines that say what they were. */
const PREVIEWS = [
  createPreviewer({ thresholdTokens: 2048, previewChars: 1600, previewLines: 24 }),
  createPreviewer({ thresholdTokens: 128, previewChars: 320, previewLines: 8 }),
];

const MEDIA: ReadonlySet<string> = new Set(["image", "audio", "video", "document"]);
const isMedia = ({ type }: { readonly type: string }): boolean => MEDIA.has(type);

function leaveOut<C extends { readonly type: string }>(content: readonly C[]): readonly (C | { type: "text"; text: string })[] {
  return content.map((part) => (isMedia(part) ? { type: "text", text: `[${part.type} left out]` } : part));
}

function withoutMedia(message: Message): Message {
  if (!message.content.some(isMedia)) return message;
  switch (message.role) {
    case "user":
      return { ...message, content: leaveOut<UserContent>(message.content) };
    case "tool":
      return { ...message, content: leaveOut<ToolContent>(message.content) };
    case "assistant":
      return { ...message, content: leaveOut<AssistantContent>(message.content) };
    case "system":
      return message;
  }
}

/** Nobody can tell what media weigh, so only those stay that the model is asked about now: of the newest question and the newest round. */
function dropOldMedia(messages: readonly Message[]): readonly Message[] {
  const question = messages.findLastIndex(({ role, visibility }) => role === "user" && visibility !== "internal");
  const round = messages.findLastIndex(({ role }) => role !== "tool");
  return messages.map((message, index) => (index === question || index >= round ? message : withoutMedia(message)));
}

/** The messages within so many tokens, as far as that can be done: instructions and tools are not ours to cut, nor is the newest question. */
export function fitMessages(messages: readonly Message[], tokens: number): readonly Message[] {
  let fitted = dropOldMedia(messages);
  for (const preview of PREVIEWS) {
    fitted = truncateMessages(preview(fitted), { tokens, minRecent: 1 });
    if (estimateMessages(fitted) <= tokens) break;
  }
  return openWithUser(fitted);
}

export interface Shrunk {
  readonly request: InferenceRequest;
  /** What the messages of a request may weigh from now on. */
  readonly tokens: number;
}

/**
 * What to ask instead of a request that the vendor refused as too long: half of what the window holds, or half of what was refused where
 * that is less, because an estimate was wrong already. Undefined when there is nothing to leave out.
 */
export function shrinkRequest(request: InferenceRequest, { contextWindow, maxOutputTokens }: ModelWindow): Shrunk | undefined {
  const { messages, system, tools } = request;
  const fixed = estimateInstructions(system) + estimateTools(tools);
  const weight = estimateMessages(messages);
  const window = contextWindow ?? Number.POSITIVE_INFINITY;
  const reserve = Math.min(maxOutputTokens ?? OUTPUT_TOKENS, OUTPUT_TOKENS, window / 2);
  const tokens = Math.max(0, Math.floor(Math.min(window - reserve - fixed, weight) / 2));
  const fitted = fitMessages(messages, tokens);
  const before = new Set(messages);
  const isLess = fitted.length < messages.length || fitted.some((message) => !before.has(message));
  return isLess ? { request: { ...request, messages: fitted }, tokens } : undefined;
}

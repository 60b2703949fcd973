import { messageText, type UserMessage } from "@awaken/contract";
import { previewText } from "./preview.ts";

const SHORT = { thresholdTokens: 64, previewChars: 200, previewLines: 6 };

/** A question that has no room, as little of it as tells what the answers behind it are about. */
export function shortenQuestion(question: UserMessage): UserMessage {
  const left = question.content.filter(({ type }) => type !== "text").map(({ type }) => `[${type} left out]`);
  const text = previewText(messageText(question), SHORT);
  if (left.length === 0 && text === messageText(question)) return question;
  return { ...question, content: [{ type: "text", text: [text, ...left].filter((line) => line !== "").join("\n") }] };
}

import type { LanguageModelV4ToolResultOutput, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { type MediaContent, messageText, type ToolMessage } from "@awaken/contract";
import { toFile } from "./to-file.ts";
import type { Vendor } from "./vendor.ts";

export function toolMedia({ content, status }: ToolMessage): readonly MediaContent[] {
  return status === "error" ? [] : content.filter((part) => part.type !== "text");
}

function toOutput(message: ToolMessage, { hasToolMedia }: Vendor): LanguageModelV4ToolResultOutput {
  const text = messageText(message);
  if (message.status === "error") return { type: "error-text", value: text };
  if (!hasToolMedia || toolMedia(message).length === 0) return { type: "text", value: text };
  const value = message.content.map((part) => (part.type === "text" ? { type: "text" as const, text: part.text } : toFile(part)));
  return { type: "content", value: value.filter((part) => part.type !== "text" || part.text !== "") };
}

export function toToolResult(message: ToolMessage, vendor: Vendor): LanguageModelV4ToolResultPart {
  return { type: "tool-result", toolCallId: message.toolCallId, toolName: message.toolName, output: toOutput(message, vendor) };
}

import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4TextPart } from "@ai-sdk/provider";
import { type InferenceRequest, type Message, messageText, type ToolMessage, type UserContent } from "@awaken/contract";
import { toSdkMetadata } from "../sdk-json.ts";
import { toAssistantParts } from "./to-assistant.ts";
import { toFile } from "./to-file.ts";
import { toolMedia, toToolResult } from "./to-tool-result.ts";
import type { Vendor } from "./vendor.ts";

const CACHED = { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } };

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

function toUserParts(content: readonly UserContent[]): UserPart[] {
  return content.flatMap((part): UserPart[] => {
    if (part.type !== "text") return [toFile(part)];
    return part.text === "" ? [] : [{ type: "text", text: part.text, ...toSdkMetadata(part.providerMetadata) }];
  });
}

/** One message for the results of one round of calls: vendors want them together, right after the calls. */
function toToolMessages(group: readonly ToolMessage[], vendor: Vendor): LanguageModelV4Message[] {
  const results: LanguageModelV4Message = { role: "tool", content: group.map((message) => toToolResult(message, vendor)) };
  if (vendor.hasToolMedia) return [results];
  const attached = group.flatMap((message): UserPart[] => {
    const media = toolMedia(message);
    return media.length === 0 ? [] : [{ type: "text", text: `From tool ${message.toolName}:` }, ...media.map(toFile)];
  });
  return attached.length === 0 ? [results] : [results, { role: "user", content: attached }];
}

function toSystem(text: string, isLate: boolean, vendor: Vendor): LanguageModelV4Message {
  if (!isLate || vendor.hasLateSystem) return { role: "system", content: text };
  return { role: "user", content: [{ type: "text", text: `<system>\n${text}\n</system>` }] };
}

function toMessage(message: Exclude<Message, ToolMessage>, isLate: boolean, vendor: Vendor): LanguageModelV4Message | undefined {
  switch (message.role) {
    case "system": {
      const text = messageText(message);
      return text === "" ? undefined : toSystem(text, isLate, vendor);
    }
    case "user": {
      const content = toUserParts(message.content);
      return content.length === 0 ? undefined : { role: "user", content };
    }
    case "assistant": {
      const content = toAssistantParts(message.content, vendor);
      return content.length === 0 ? undefined : { role: "assistant", content };
    }
  }
}

/** Adds a message; to the one before it where both are of one role and the vendor wants turns. */
function add(prompt: LanguageModelV4Prompt, message: LanguageModelV4Message, { takesTurns }: Vendor): void {
  const last = prompt.at(-1);
  if (takesTurns && last?.role === "user" && message.role === "user")
    prompt[prompt.length - 1] = { ...last, content: [...last.content, ...message.content] };
  else if (takesTurns && last?.role === "assistant" && message.role === "assistant")
    prompt[prompt.length - 1] = { ...last, content: [...last.content, ...message.content] };
  else prompt.push(message);
}

export function toPrompt({ system, messages, promptCache }: InferenceRequest, vendor: Vendor): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = system === "" ? [] : [{ role: "system", content: system, ...(promptCache && CACHED) }];
  let group: ToolMessage[] = [];
  let isLate = false;
  const closeGroup = () => {
    if (group.length > 0) for (const message of toToolMessages(group, vendor)) add(prompt, message, vendor);
    group = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      group.push(message);
      isLate = true;
      continue;
    }
    closeGroup();
    isLate ||= message.role !== "system";
    const converted = toMessage(message, isLate, vendor);
    if (converted !== undefined) add(prompt, converted, vendor);
  }
  closeGroup();
  return prompt;
}

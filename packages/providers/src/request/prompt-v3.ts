import type {
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";

type UserV3 = Extract<LanguageModelV3Message, { role: "user" }>["content"][number];
type UserV4 = Extract<LanguageModelV4Message, { role: "user" }>["content"][number];
type AssistantV3 = Extract<LanguageModelV3Message, { role: "assistant" }>["content"][number];
type AssistantV4 = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];
type ResultContentV3 = Extract<LanguageModelV3ToolResultOutput, { type: "content" }>["value"][number];
type ResultContentV4 = Extract<LanguageModelV4ToolResultOutput, { type: "content" }>["value"][number];

/** Our prompts hold only bytes and URLs; other kinds of data have no counterpart and are left out. */
function toFileV3(part: LanguageModelV4FilePart): LanguageModelV3FilePart[] {
  const { data } = part;
  if (data.type === "data") return [{ ...part, data: data.data }];
  return data.type === "url" ? [{ ...part, data: data.url }] : [];
}

function toResultContentV3(part: ResultContentV4): ResultContentV3[] {
  if (part.type !== "file") return [part];
  const { data, mediaType, filename, providerOptions } = part;
  const isImage = mediaType.startsWith("image/");
  const options = providerOptions === undefined ? {} : { providerOptions };
  if (data.type === "url") return [{ type: isImage ? "image-url" : "file-url", url: data.url.href, ...options }];
  if (data.type !== "data" || typeof data.data !== "string") return [];
  if (isImage) return [{ type: "image-data", data: data.data, mediaType, ...options }];
  return [{ type: "file-data", data: data.data, mediaType, ...(filename !== undefined && { filename }), ...options }];
}

function toResultV3(part: LanguageModelV4ToolResultPart): LanguageModelV3ToolResultPart {
  const { output } = part;
  return { ...part, output: output.type === "content" ? { ...output, value: output.value.flatMap(toResultContentV3) } : output };
}

const toUserV3 = (part: UserV4): UserV3[] => (part.type === "file" ? toFileV3(part) : [part]);

function toAssistantV3(part: AssistantV4): AssistantV3[] {
  switch (part.type) {
    case "file":
      return toFileV3(part);
    case "tool-result":
      return [toResultV3(part)];
    case "custom":
    case "reasoning-file":
      return [];
    default:
      return [part];
  }
}

function toMessageV3(message: LanguageModelV4Message): LanguageModelV3Message {
  switch (message.role) {
    case "system":
      return message;
    case "user":
      return { ...message, content: message.content.flatMap(toUserV3) };
    case "assistant":
      return { ...message, content: message.content.flatMap(toAssistantV3) };
    case "tool":
      return { ...message, content: message.content.map((part) => (part.type === "tool-result" ? toResultV3(part) : part)) };
  }
}

/** The same prompt in the older specification, where file data has no tag. */
export const toPromptV3 = (prompt: LanguageModelV4Prompt): LanguageModelV3Prompt => prompt.map(toMessageV3);

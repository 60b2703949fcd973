import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ReasoningFilePart,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type {
  AssistantContent,
  MediaContent,
  ProviderMetadata,
  ReasoningContent,
  TextContent,
  ToolCallContent,
  ToolResultContent,
} from "@awaken/contract";
import { REASONING_FILE } from "../answer/from-file.ts";
import { toSdkJson, toSdkMetadata } from "../sdk-json.ts";
import { toFile } from "./to-file.ts";
import type { Vendor } from "./vendor.ts";

export type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** An empty text is sent only where it carries a signature that the vendor wants back. */
function toText(part: TextContent, { family }: Vendor): LanguageModelV4TextPart[] {
  if (part.text === "" && (family !== "google" || part.providerMetadata === undefined)) return [];
  return [{ type: "text", text: part.text, ...toSdkMetadata(part.providerMetadata) }];
}

/** A bare signature belongs to the vendor that is asked; one in the metadata is already under its owner's name. */
function signedMetadata({ signature, providerMetadata }: ReasoningContent, { family }: Vendor): ProviderMetadata | undefined {
  if (providerMetadata !== undefined || signature === undefined) return providerMetadata;
  if (family === "anthropic") return { anthropic: { signature } };
  return family === "google" ? { google: { thoughtSignature: signature } } : undefined;
}

function toReasoning(part: ReasoningContent, vendor: Vendor): LanguageModelV4ReasoningPart[] {
  const metadata = signedMetadata(part, vendor);
  if (part.text === "" && metadata === undefined) return [];
  return [{ type: "reasoning", text: part.text, ...toSdkMetadata(metadata) }];
}

function toCall(part: ToolCallContent): LanguageModelV4ToolCallPart {
  return {
    type: "tool-call",
    toolCallId: part.id,
    toolName: part.name,
    input: part.input === null ? {} : toSdkJson(part.input),
    ...(part.executed === "provider" && { providerExecuted: true }),
    ...toSdkMetadata(part.providerMetadata),
  };
}

function toProviderResult(part: ToolResultContent): LanguageModelV4ToolResultPart {
  const type = part.isError === true ? "error-json" : "json";
  const output = { type, value: toSdkJson(part.output) } as const;
  return { type: "tool-result", toolCallId: part.id, toolName: part.name, output, ...toSdkMetadata(part.providerMetadata) };
}

function toGenerated(part: MediaContent): LanguageModelV4FilePart | LanguageModelV4ReasoningFilePart {
  const file = toFile(part);
  const { data } = file;
  const isReasoning = part.providerMetadata?.[REASONING_FILE] !== undefined && (data.type === "data" || data.type === "url");
  return isReasoning ? { ...file, type: "reasoning-file", data } : file;
}

export function toAssistantParts(content: readonly AssistantContent[], vendor: Vendor): AssistantPart[] {
  return content.flatMap((part): AssistantPart[] => {
    switch (part.type) {
      case "text":
        return toText(part, vendor);
      case "reasoning":
        return toReasoning(part, vendor);
      case "tool-call":
        return [toCall(part)];
      case "tool-result":
        return [toProviderResult(part)];
      default:
        return [toGenerated(part)];
    }
  });
}

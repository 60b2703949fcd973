import type { LanguageModelV4File, LanguageModelV4ReasoningFile } from "@ai-sdk/provider";
import type { MediaContent, MediaSource } from "@awaken/contract";
import { fromSdkMetadata } from "../sdk-json.ts";

/** Marks a file that belongs to the reasoning, so that it goes back as one. */
export const REASONING_FILE = "awaken-reasoning-file";

type FilePart = LanguageModelV4File | LanguageModelV4ReasoningFile;

function kindOf(mediaType: string): MediaContent["type"] {
  const [top] = mediaType.split("/", 1);
  return top === "image" || top === "audio" || top === "video" ? top : "document";
}

function toSource(mediaType: string, file: FilePart["data"]): MediaSource {
  if (file.type === "url") return { type: "url", url: file.url.href, mediaType };
  const data = typeof file.data === "string" ? file.data : Buffer.from(file.data).toString("base64");
  return { type: "base64", mediaType, data };
}

export function fromFile({ type, mediaType, data, providerMetadata }: FilePart): MediaContent {
  const mark = type === "reasoning-file" ? { [REASONING_FILE]: { type } } : {};
  const metadata = fromSdkMetadata({ ...providerMetadata, ...mark });
  return { type: kindOf(mediaType), source: toSource(mediaType, data), ...(metadata !== undefined && { providerMetadata: metadata }) };
}

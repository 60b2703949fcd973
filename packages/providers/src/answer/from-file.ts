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

const CHUNK = 0x8000;

/** Without Buffer, which browsers do not have; in pieces, because a call takes only so many arguments. */
function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += CHUNK) binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  return btoa(binary);
}

function toSource(mediaType: string, file: FilePart["data"]): MediaSource {
  if (file.type === "url") return { type: "url", url: file.url.href, mediaType };
  const data = typeof file.data === "string" ? file.data : toBase64(file.data);
  return { type: "base64", mediaType, data };
}

export function fromFile({ type, mediaType, data, providerMetadata }: FilePart): MediaContent {
  const mark = type === "reasoning-file" ? { [REASONING_FILE]: { type } } : {};
  const metadata = fromSdkMetadata({ ...providerMetadata, ...mark });
  return { type: kindOf(mediaType), source: toSource(mediaType, data), ...(metadata !== undefined && { providerMetadata: metadata }) };
}

import type { LanguageModelV4FilePart } from "@ai-sdk/provider";
import { InferenceError, type MediaContent } from "@awaken/contract";
import { toSdkMetadata } from "../sdk-json.ts";

const BY_EXTENSION: Readonly<Record<string, string>> = {
  csv: "text/csv",
  gif: "image/gif",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/markdown",
  mov: "video/quicktime",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  pdf: "application/pdf",
  png: "image/png",
  txt: "text/plain",
  wav: "audio/wav",
  webm: "video/webm",
  webp: "image/webp",
};

const DATA_URL = /^data:([^;,]+)(?:;[^;,]+)*;base64,(.*)$/s;

function parseUrl(url: string): URL {
  if (!URL.canParse(url)) throw new InferenceError({ type: "invalid-request", message: `not a URL: ${url.slice(0, 200)}` });
  return new URL(url);
}

/** Of a URL without a media type: by its extension, else what the kind of content allows. */
function guessMediaType(type: MediaContent["type"], url: URL): string {
  const extension = /\.([a-z0-9]+)$/i.exec(url.pathname)?.[1]?.toLowerCase() ?? "";
  const known = BY_EXTENSION[extension];
  if (type === "document") return known ?? "application/pdf";
  return known?.startsWith(`${type}/`) ? known : `${type}/*`;
}

type FileData = Pick<LanguageModelV4FilePart, "data" | "mediaType">;

function toData({ type, source }: MediaContent): FileData {
  if (source.type === "base64") return { mediaType: source.mediaType, data: { type: "data", data: source.data } };
  const [, mediaType, data] = DATA_URL.exec(source.url) ?? [];
  if (mediaType !== undefined && data !== undefined) return { mediaType, data: { type: "data", data } };
  const url = parseUrl(source.url);
  return { mediaType: source.mediaType ?? guessMediaType(type, url), data: { type: "url", url } };
}

export function toFile(part: MediaContent): LanguageModelV4FilePart {
  const filename = part.type === "document" && part.title !== undefined ? { filename: part.title } : {};
  return { type: "file", ...toData(part), ...filename, ...toSdkMetadata(part.providerMetadata) };
}

import type { JsonObject, MediaContent, UserContent } from "@awaken/contract";
import { type ClientMessage, refuse } from "./request.ts";

const MAX_FILES = 4;
const MAX_BYTES = 8 * 1024 * 1024;

const DOCUMENTS: ReadonlySet<string> = new Set(["application/pdf", "text/plain", "text/markdown", "application/json"]);
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,([A-Za-z0-9+/]*={0,2})$/;

function kindOf(mediaType: string): MediaContent["type"] | undefined {
  const [top] = mediaType.split("/");
  if (top === "image" || top === "audio" || top === "video") return top;
  return DOCUMENTS.has(mediaType) ? "document" : undefined;
}

/** A top-level type alone, or with a star, matches whatever is below it. */
const fits = (declared: string, actual: string): boolean =>
  declared === actual || (declared === actual.split("/")[0] ? true : declared === `${actual.split("/")[0]}/*`);

const bytesOf = (base64: string): number =>
  Math.floor((base64.length * 3) / 4) - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0);

interface ReadFile {
  readonly content: MediaContent;
  readonly bytes: number;
}

function readFile({ url, mediaType, filename }: JsonObject): ReadFile {
  if (typeof url !== "string") throw refuse("a file needs a data: URL; files that are elsewhere are not fetched");
  const [, actual = "", data = ""] = DATA_URL.exec(url) ?? [];
  if (actual === "") throw refuse("a file must come as a data: URL in base64; files that are elsewhere are not fetched");
  if (typeof mediaType !== "string" || !fits(mediaType.toLowerCase(), actual.toLowerCase())) {
    throw refuse(`the file says that it is '${String(mediaType)}' and its URL '${actual}'`);
  }
  const type = kindOf(actual.toLowerCase());
  if (type === undefined) throw refuse(`files of type '${actual}' are not taken`);
  const source = { type: "base64", mediaType: actual.toLowerCase(), data } as const;
  const bytes = bytesOf(data);
  if (type !== "document") return { content: { type, source }, bytes };
  return { content: { type, source, ...(typeof filename === "string" && filename !== "" ? { title: filename } : undefined) }, bytes };
}

/** What the messages say, in their order. Files are counted over all of them. */
export function readContents(messages: readonly ClientMessage[]): readonly (readonly UserContent[])[] {
  let [files, bytes] = [0, 0];
  return messages.map(({ parts }) =>
    parts.flatMap((part): readonly UserContent[] => {
      if (part["type"] === "text") {
        if (typeof part["text"] !== "string") throw refuse("a text part needs a text");
        return part["text"] === "" ? [] : [{ type: "text", text: part["text"] }];
      }
      if (part["type"] !== "file") return [];
      const file = readFile(part);
      files += 1;
      bytes += file.bytes;
      if (files > MAX_FILES) throw refuse(`a request may bring ${MAX_FILES} files`);
      if (bytes > MAX_BYTES) throw refuse(`the files of a request may have ${MAX_BYTES} bytes together`);
      return [file.content];
    }),
  );
}

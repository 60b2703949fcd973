import { isJsonObject, type JsonObject, type JsonValue, type MediaContent, toJson } from "@awaken/contract";
import { fail, reply } from "@awaken/runtime";
import type { CallToolResult } from "@modelcontextprotocol/client";

interface Parts {
  readonly texts: readonly string[];
  readonly media: readonly MediaContent[];
  /** Whether there is nothing but text. */
  readonly isText: boolean;
}

const asMedia = (type: "image" | "audio", data: string, mediaType: string): MediaContent => ({
  type,
  source: { type: "base64", mediaType, data },
});

function partsOf(content: CallToolResult["content"]): Parts {
  const texts: string[] = [];
  const media: MediaContent[] = [];
  for (const part of content) {
    switch (part.type) {
      case "text":
        texts.push(part.text);
        break;
      case "image":
      case "audio":
        media.push(asMedia(part.type, part.data, part.mimeType));
        break;
      case "resource":
        texts.push("text" in part.resource ? part.resource.text : `[${part.resource.mimeType ?? "file"}: ${part.resource.uri}]`);
        break;
      case "resource_link":
        texts.push(`[${part.name}: ${part.uri}]`);
        break;
    }
  }
  return { texts, media, isText: content.every(({ type }) => type === "text") };
}

const objectOf = (value: unknown): JsonObject => {
  const json = toJson(value);
  return isJsonObject(json) ? json : {};
};

/** What a server gave, as a result of ours. Text alone is the data; of anything else the whole is, and the model reads text and sees media. */
export function toReply(result: CallToolResult, about: JsonObject): ReturnType<typeof reply> {
  const { content = [], structuredContent, isError } = result;
  const { texts, media, isText } = partsOf(content);
  const text = texts.join("\n");
  const metadata: JsonObject = {
    ...about,
    ...(isText ? { "mcp.result.content": toJson(content) } : {}),
    ...(structuredContent === undefined ? {} : { "mcp.result.structuredContent": toJson(structuredContent) }),
    ...(isError === undefined ? {} : { "mcp.result.isError": isError }),
  };
  const data: JsonValue = isText ? text : objectOf({ content, ...(structuredContent === undefined ? {} : { structuredContent }) });
  if (isError === true) {
    const message = text === "" ? "the server says that the call failed" : text;
    return fail("execution_failed", message, { data, metadata });
  }
  const isStructuredAlone = isText && text === "" && structuredContent !== undefined;
  if (isStructuredAlone) return reply(toJson(structuredContent), { metadata });
  const shown = isText ? {} : { message: text, ...(media.length === 0 ? {} : { media }) };
  return reply(data, { ...shown, metadata });
}

import { extname } from "node:path/posix";
import type { Part } from "@a2a-js/sdk";
import { type Artifact, isJsonObject, type JsonValue, type MediaSource, type Message, toJson, type UserContent } from "@awaken/contract";

/** Takes what must not be shown out of a text. */
export type Hide = (text: string) => string;

/** A part as the protocol has it in JSON. */
export type PartView = ({ readonly text: string } | { readonly raw: string } | { readonly url: string } | { readonly data: JsonValue }) & {
  readonly mediaType?: string;
  readonly filename?: string;
};

const MEDIA_TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml" },
    ...{
      mp3: "audio/mpeg",
      wav: "audio/wav",
      ogg: "audio/ogg",
      m4a: "audio/mp4",
      mp4: "video/mp4",
      webm: "video/webm",
      mov: "video/quicktime",
    },
    ...{ pdf: "application/pdf", json: "application/json", txt: "text/plain", md: "text/markdown", csv: "text/csv", html: "text/html" },
  }),
);

const typeOfUrl = (url: string): string =>
  MEDIA_TYPES.get(
    extname(URL.parse(url)?.pathname ?? "")
      .slice(1)
      .toLowerCase(),
  ) ?? "";

const part = (content: NonNullable<Part["content"]>, mediaType = "", filename = ""): Part => ({
  content,
  mediaType,
  filename,
  metadata: undefined,
});

const mediaPart = (source: MediaSource, filename?: string): Part =>
  source.type === "base64"
    ? part({ $case: "raw", value: Buffer.from(source.data, "base64") }, source.mediaType, filename)
    : part({ $case: "url", value: source.url }, source.mediaType ?? typeOfUrl(source.url), filename);

function toPart(content: UserContent): readonly Part[] {
  switch (content.type) {
    case "text":
      return content.text === "" ? [] : [part({ $case: "text", value: content.text }, "text/plain")];
    case "image":
    case "audio":
    case "video":
      return [mediaPart(content.source)];
    case "document":
      return [mediaPart(content.source, content.title)];
    default:
      return [];
  }
}

/** What people said, without what was added for a model. */
export const toParts = (messages: readonly Message[]): Part[] =>
  messages.flatMap((message) => (message.role === "user" && message.visibility === undefined ? message.content.flatMap(toPart) : []));

function hideIn(value: JsonValue, hide: Hide): JsonValue {
  if (typeof value === "string") return hide(value);
  if (Array.isArray(value)) return value.map((each: JsonValue) => hideIn(each, hide));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [hide(key), hideIn(each, hide)]));
}

function contentOf({ content }: Part, hide: Hide): PartView | undefined {
  switch (content?.$case) {
    case "text":
      return { text: hide(content.value) };
    case "raw":
      return { raw: Buffer.from(content.value).toString("base64") };
    case "url":
      return { url: hide(content.value) };
    case "data":
      return { data: hideIn(toJson(content.value), hide) };
    default:
      return undefined;
  }
}

export function viewParts(parts: readonly Part[], hide: Hide): readonly PartView[] {
  return parts.flatMap((each) => {
    const content = contentOf(each, hide);
    const { mediaType, filename } = each;
    return content === undefined
      ? []
      : [
          {
            ...content,
            ...(mediaType === "" ? {} : { mediaType: hide(mediaType) }),
            ...(filename === "" ? {} : { filename: hide(filename) }),
          },
        ];
  });
}

/** Several parts are paragraphs; data counts as its JSON. Empty when none of them is text. */
export const textOf = (parts: readonly PartView[]): string =>
  parts
    .flatMap((each) => ("text" in each ? [each.text] : "data" in each ? [JSON.stringify(each.data)] : []))
    .filter((text) => text !== "")
    .join("\n\n");

/** Chunks of one text are one text. */
export function appended(before: readonly PartView[], more: readonly PartView[]): readonly PartView[] {
  const [last, [first, ...rest]] = [before.at(-1), more];
  if (last === undefined || first === undefined || !("text" in last) || !("text" in first)) return [...before, ...more];
  return [...before.slice(0, -1), { ...last, text: last.text + first.text }, ...rest];
}

/** As the protocol calls it; undefined when it is not said. */
const said = (text: string): string | undefined => (text === "" ? undefined : text);

interface Named {
  readonly id: string;
  readonly name: string;
}

/** What an artifact is, without what is in it. */
export function artifactFacts({ id, name }: Named, parts: readonly PartView[]): Omit<Artifact, "content"> {
  const mediaType = parts.find((each) => each.mediaType !== undefined)?.mediaType;
  const facts = { id: said(id), name: said(name), mediaType };
  return {
    ...(facts.id === undefined ? {} : { id: facts.id }),
    ...(facts.name === undefined ? {} : { name: facts.name }),
    ...(facts.mediaType === undefined ? {} : { mediaType: facts.mediaType }),
  };
}

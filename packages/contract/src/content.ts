import type { ToolCallId } from "./ids.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** Vendor data kept beside a part and sent back to the same vendor: `{ anthropic: { … } }`. */
export type ProviderMetadata = { readonly [provider: string]: JsonObject };

export type MediaSource =
  | {
      readonly type: "base64";
      /** Like `image/png`: vendors refuse data of a type that they do not know. */
      readonly mediaType: string;
      /** The bytes in base64, without a `data:` prefix. */
      readonly data: string;
    }
  | {
      readonly type: "url";
      /** Where the vendor fetches it from; it must be able to reach it. */
      readonly url: string;
      /** Where the address does not tell it. */
      readonly mediaType?: string;
    };

interface Part {
  /** Data of the vendor that is sent back to it with this part. */
  readonly providerMetadata?: ProviderMetadata;
}

export interface TextContent extends Part {
  readonly type: "text";
  /** Plain text, or Markdown, as the model or the person wrote it. */
  readonly text: string;
}

/** `signature` proves to the vendor that it wrote this text; without it some vendors refuse the history. */
export interface ReasoningContent extends Part {
  readonly type: "reasoning";
  /** What the model thought aloud; empty when the vendor shows none of it. */
  readonly text: string;
  /** Sent back as it came: some vendors refuse the history without it. */
  readonly signature?: string;
}

export interface ImageContent extends Part {
  readonly type: "image";
  /** The picture itself, or where it is. */
  readonly source: MediaSource;
}

export interface AudioContent extends Part {
  readonly type: "audio";
  /** The sound itself, or where it is. */
  readonly source: MediaSource;
}

export interface VideoContent extends Part {
  readonly type: "video";
  /** The film itself, or where it is. */
  readonly source: MediaSource;
}

export interface DocumentContent extends Part {
  readonly type: "document";
  /** The document itself, or where it is. */
  readonly source: MediaSource;
  /** What it is called, for models that quote from it. */
  readonly title?: string;
}

/** A tool that the model asks for. `executed: "provider"` means that the vendor runs it and we only keep the record. */
export interface ToolCallContent extends Part {
  readonly type: "tool-call";
  /** Pairs the call with its result. */
  readonly id: ToolCallId;
  /** The id of the tool. */
  readonly name: string;
  /** As the model wrote it; it is checked when the call is prepared. */
  readonly input: JsonValue;
  /** The vendor runs this call itself, and its result comes with the answer. */
  readonly executed?: "provider";
}

/** The result of a call that the vendor ran itself. Results of our tools are messages of role `tool`. */
export interface ToolResultContent extends Part {
  readonly type: "tool-result";
  /** Of the call that it is the result of. */
  readonly id: ToolCallId;
  /** The vendor's name of its tool. */
  readonly name: string;
  /** What the vendor's tool gave. */
  readonly output: JsonValue;
  /** The vendor's tool failed, and `output` says how. */
  readonly isError?: boolean;
}

export type MediaContent = ImageContent | AudioContent | VideoContent | DocumentContent;
export type UserContent = TextContent | MediaContent;
export type AssistantContent = TextContent | ReasoningContent | MediaContent | ToolCallContent | ToolResultContent;
export type ToolContent = TextContent | MediaContent;
export type Content = AssistantContent;

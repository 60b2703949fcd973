import type { ToolCallId } from "./ids.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** Vendor data kept beside a part and sent back to the same vendor: `{ anthropic: { … } }`. */
export type ProviderMetadata = { readonly [provider: string]: JsonObject };

export type MediaSource =
  | { readonly type: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly type: "url"; readonly url: string; readonly mediaType?: string };

interface Part {
  readonly providerMetadata?: ProviderMetadata;
}

export interface TextContent extends Part {
  readonly type: "text";
  readonly text: string;
}

/** `signature` proves to the vendor that it wrote this text; without it some vendors refuse the history. */
export interface ReasoningContent extends Part {
  readonly type: "reasoning";
  readonly text: string;
  readonly signature?: string;
}

export interface ImageContent extends Part {
  readonly type: "image";
  readonly source: MediaSource;
}

export interface AudioContent extends Part {
  readonly type: "audio";
  readonly source: MediaSource;
}

export interface VideoContent extends Part {
  readonly type: "video";
  readonly source: MediaSource;
}

export interface DocumentContent extends Part {
  readonly type: "document";
  readonly source: MediaSource;
  readonly title?: string;
}

/** A tool that the model asks for. `executed: "provider"` means that the vendor runs it and we only keep the record. */
export interface ToolCallContent extends Part {
  readonly type: "tool-call";
  readonly id: ToolCallId;
  readonly name: string;
  readonly input: JsonValue;
  readonly executed?: "provider";
}

/** The result of a call that the vendor ran itself. Results of our tools are messages of role `tool`. */
export interface ToolResultContent extends Part {
  readonly type: "tool-result";
  readonly id: ToolCallId;
  readonly name: string;
  readonly output: JsonValue;
  readonly isError?: boolean;
}

export type MediaContent = ImageContent | AudioContent | VideoContent | DocumentContent;
export type UserContent = TextContent | MediaContent;
export type AssistantContent = TextContent | ReasoningContent | MediaContent | ToolCallContent | ToolResultContent;
export type ToolContent = TextContent | MediaContent;
export type Content = AssistantContent;

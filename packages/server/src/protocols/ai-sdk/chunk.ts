import type { JsonObject, JsonValue, Usage } from "@awaken/contract";

/** What differs between the clients in use: an older one stops at a type that it does not know. */
export const DIALECTS = [7, 6] as const;
export type Dialect = (typeof DIALECTS)[number];

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other" | "interrupted";

/** What a message says about itself. */
export interface AnswerMetadata {
  readonly threadId?: string;
  readonly runId?: string;
  readonly agentId?: string;
  readonly usage?: Usage;
}

/** Where a call runs, on each of its chunks. */
export interface CallFlags {
  /** The server runs it: the page does not. */
  readonly providerExecuted?: true;
  /** The page cannot know its types. */
  readonly dynamic?: true;
}

export type SteeringPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "file"; readonly mediaType: string; readonly url: string };

interface OfCall {
  readonly toolCallId: string;
}

/** What a call waits for, for whoever shows it. */
export type ApprovalDescriptor = JsonObject;

export type DataChunk = {
  readonly type: `data-${string}`;
  readonly id?: string;
  readonly data: JsonValue;
  /** Shown and not kept in the message. */
  readonly transient?: true;
};

/** One part of the stream, as the clients of the AI SDK read it. */
export type Chunk =
  | { readonly type: "start"; readonly messageId?: string; readonly messageMetadata: AnswerMetadata }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | ({ readonly type: "tool-input-start"; readonly toolName: string } & OfCall & CallFlags)
  | ({ readonly type: "tool-input-delta"; readonly inputTextDelta: string } & OfCall)
  | ({ readonly type: "tool-input-available"; readonly toolName: string; readonly input: JsonValue } & OfCall & CallFlags)
  | ({ readonly type: "tool-input-error"; readonly toolName: string; readonly input: JsonValue; readonly errorText: string } & OfCall &
      CallFlags)
  | ({
      readonly type: "tool-approval-request";
      readonly approvalId: string;
      readonly reason?: string;
      readonly approvalDescriptor: ApprovalDescriptor;
    } & OfCall)
  | { readonly type: "tool-approval-response"; readonly approvalId: string; readonly approved: boolean; readonly reason?: string }
  | ({ readonly type: "tool-output-available"; readonly output: JsonValue; readonly preliminary?: true } & OfCall & CallFlags)
  | ({ readonly type: "tool-output-error"; readonly errorText: string } & OfCall & CallFlags)
  | ({ readonly type: "tool-output-denied" } & OfCall)
  | { readonly type: "steering-message"; readonly id: string; readonly parts: readonly SteeringPart[] }
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: "source-document";
      readonly sourceId: string;
      readonly mediaType: string;
      readonly title: string;
      readonly filename?: string;
    }
  | { readonly type: "file"; readonly url: string; readonly mediaType: string }
  | DataChunk
  | { readonly type: "finish"; readonly finishReason: FinishReason; readonly messageMetadata?: AnswerMetadata }
  | { readonly type: "abort"; readonly reason: string }
  | { readonly type: "error"; readonly errorText: string };

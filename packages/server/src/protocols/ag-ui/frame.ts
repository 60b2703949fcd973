import type { JsonObject, JsonValue } from "@awaken/contract";

/** What differs between the clients in use: the older one takes no field that it does not know. */
export const AG_UI_DIALECTS = ["1.0", "older"] as const;
export type AgUiDialect = (typeof AG_UI_DIALECTS)[number];

export interface AgUiToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Text, or parts where a tool gave more than that: the older client takes text alone. */
export type ResultContent = string | readonly JsonValue[];

/** A message as AG-UI clients keep it. */
export type AgUiMessage =
  | { readonly id: string; readonly role: "user" | "system"; readonly content: JsonValue }
  | { readonly id: string; readonly role: "assistant"; readonly content?: string; readonly toolCalls?: readonly AgUiToolCall[] }
  | { readonly id: string; readonly role: "tool"; readonly toolCallId: string; readonly content: ResultContent; readonly error?: string };

/** What has to be answered before the thread goes on. */
export interface Interrupt {
  readonly id: string;
  readonly reason: string;
  readonly message?: string;
  readonly toolCallId?: string;
  readonly responseSchema?: JsonObject;
  readonly expiresAt?: string;
  readonly subagentRunId?: string;
  readonly metadata?: JsonObject;
}

export interface ModelTokens {
  readonly provider: string;
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly reasoningTokens?: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
}

type Outcome =
  | { readonly type: "success"; readonly pendingToolCallIds?: readonly string[] }
  | { readonly type: "interrupt"; readonly interrupts: readonly Interrupt[] }
  | { readonly type: "cancelled" };

interface OfMessage {
  readonly messageId: string;
}
interface OfCall {
  readonly toolCallId: string;
}
interface OfSubagent {
  readonly subagentRunId: string;
}

/** One event, as AG-UI clients read it. */
export type AgUiFrame =
  | {
      readonly type: "RUN_STARTED";
      readonly threadId: string;
      readonly runId: string;
      readonly protocolVersion?: string;
      readonly parentRunId?: string;
      readonly metadata?: JsonObject;
    }
  | {
      readonly type: "RUN_FINISHED";
      readonly threadId: string;
      readonly runId: string;
      readonly result?: JsonValue;
      readonly outcome?: Outcome;
      readonly usage?: readonly ModelTokens[];
    }
  | { readonly type: "RUN_ERROR"; readonly message: string; readonly code?: string; readonly usage?: readonly ModelTokens[] }
  | { readonly type: "STEP_STARTED" | "STEP_FINISHED"; readonly stepName: string }
  | ({ readonly type: "TEXT_MESSAGE_START"; readonly role: "assistant" | "user" } & OfMessage)
  | ({ readonly type: "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT"; readonly delta: string } & OfMessage)
  | ({ readonly type: "TEXT_MESSAGE_END" | "REASONING_START" | "REASONING_MESSAGE_END" | "REASONING_END" } & OfMessage)
  | ({ readonly type: "REASONING_MESSAGE_START"; readonly role: "reasoning" } & OfMessage)
  | {
      readonly type: "REASONING_ENCRYPTED_VALUE";
      readonly subtype: "message";
      readonly entityId: string;
      readonly encryptedValue: string;
    }
  | ({ readonly type: "TOOL_CALL_START"; readonly toolCallName: string; readonly parentMessageId: string } & OfCall)
  | ({ readonly type: "TOOL_CALL_ARGS"; readonly delta: string } & OfCall)
  | ({ readonly type: "TOOL_CALL_END" } & OfCall)
  | ({
      readonly type: "TOOL_CALL_RESULT";
      readonly content: ResultContent;
      readonly role: "tool";
      readonly metadata?: JsonObject;
    } & OfCall &
      OfMessage)
  | { readonly type: "STATE_SNAPSHOT"; readonly snapshot: JsonValue }
  | { readonly type: "MESSAGES_SNAPSHOT"; readonly messages: readonly AgUiMessage[] }
  | ({
      readonly type: "ACTIVITY_SNAPSHOT";
      readonly activityType: string;
      readonly content: JsonObject;
      readonly replace?: boolean;
    } & OfMessage)
  | ({ readonly type: "ACTIVITY_DELTA"; readonly activityType: string; readonly patch: readonly JsonObject[] } & OfMessage)
  | ({ readonly type: "SUBAGENT_STARTED"; readonly name: string; readonly parentToolCallId?: string } & OfSubagent)
  | ({
      readonly type: "SUBAGENT_FINISHED";
      readonly result?: JsonValue;
      readonly outcome: { readonly type: "success" } | { readonly type: "suspended"; readonly interruptIds: readonly string[] };
    } & OfSubagent)
  | ({ readonly type: "SUBAGENT_ERROR"; readonly message: string } & OfSubagent);

export const AG_UI_VERSION = "1.0";

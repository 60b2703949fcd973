import type { AssistantContent, ProviderMetadata } from "./content.ts";
import type { RunId, ThreadId, ToolCallId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { Message } from "./message.ts";
import type { ToolCall, ToolDescriptor } from "./tool.ts";
import type { Usage } from "./usage.ts";

export type ReasoningEffort = "none" | "low" | "medium" | "high" | "max" | { readonly budget: number };

/** Parameters that may be set per agent, run or step; the nearest wins, field by field. */
export interface InferenceOverride {
  readonly upstreamModel?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly topP?: number;
  readonly reasoningEffort?: ReasoningEffort;
}

/** Lets a pool keep a conversation on one member. */
export interface RoutingKey {
  readonly threadId?: ThreadId;
  readonly runId?: RunId;
  readonly fallback?: string;
  /** The same for every attempt of one logical inference. */
  readonly inferenceId?: string;
}

export interface InferenceRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  /** Sorted by id. */
  readonly tools: readonly ToolDescriptor[];
  readonly overrides?: Omit<InferenceOverride, "upstreamModel">;
  readonly promptCache: boolean;
  readonly routing?: RoutingKey;
  readonly providerOptions?: ProviderMetadata;
  /** Asks for an answer that fits this JSON Schema, where the vendor can. */
  readonly responseFormat?: { readonly schema: JsonObject; readonly name?: string };
}

export type StopReason = "end-turn" | "max-tokens" | "tool-use" | "stop-sequence" | "content-filter";

/**
 * What a provider yields while it answers. `tool-call-start` comes before every delta of that call; a call's deltas
 * are fragments of its JSON input; `usage` may come more than once and adds up; `stop` is last.
 */
export type StreamPart =
  | { readonly type: "text-delta"; readonly delta: string }
  | { readonly type: "reasoning-delta"; readonly delta: string }
  | { readonly type: "tool-call-start"; readonly id: string; readonly name: string; readonly executed?: "provider" }
  | { readonly type: "tool-call-delta"; readonly id: string; readonly delta: string }
  /** Ends the text or reasoning in progress and gives it what the vendor wants back with it. */
  | { readonly type: "block-end"; readonly signature?: string; readonly providerMetadata?: ProviderMetadata }
  /** Vendor data that belongs to a call, e.g. a thought signature. */
  | { readonly type: "tool-call-metadata"; readonly id: string; readonly providerMetadata: ProviderMetadata }
  /** A whole part that has no deltas: a file, the result of a call that the vendor ran. */
  | { readonly type: "content"; readonly content: AssistantContent }
  | { readonly type: "source"; readonly source: JsonObject }
  | { readonly type: "warning"; readonly message: string }
  | { readonly type: "usage"; readonly usage: Usage }
  | { readonly type: "stop"; readonly reason: StopReason };

interface TurnBody {
  readonly text: string;
  /** Everything that the model said, in order; becomes the assistant message. */
  readonly content: readonly AssistantContent[];
  /** The calls that we are asked to run. */
  readonly toolCalls: readonly ToolCall[];
  readonly usage: Usage;
  readonly model: string;
  readonly durationMs: number;
  /** Calls whose input was not JSON; they are not in `toolCalls`. */
  readonly malformedCalls: readonly { readonly id: ToolCallId; readonly name: string }[];
}

/** What one inference gave. A failed one has what was collected until then and says why it failed. */
export type Turn = TurnBody & ({ readonly stopReason: StopReason } | { readonly stopReason: "error"; readonly failure: InferenceFailure });

export const INFERENCE_FAILURES = {
  provider: "transient",
  "rate-limited": "transient",
  overloaded: "transient",
  timeout: "transient",
  "stream-interrupted": "transient",
  "context-overflow": "permanent",
  "invalid-request": "permanent",
  unauthorized: "permanent",
  "model-not-found": "permanent",
  "content-filtered": "permanent",
  "all-models-unavailable": "fail-fast",
  "pool-attempts-exhausted": "fail-fast",
  cancelled: "fail-fast",
} as const satisfies Record<string, "transient" | "permanent" | "fail-fast">;

export type InferenceFailureType = keyof typeof INFERENCE_FAILURES;

export interface InferenceFailure {
  readonly type: InferenceFailureType;
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** What a provider throws, from `stream` or from its iteration. The type decides about retries; no other error is retried. */
export class InferenceError extends Error {
  override readonly name = "InferenceError";
  readonly failure: InferenceFailure;

  constructor(failure: InferenceFailure, cause?: unknown) {
    super(failure.message, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }

  get isTransient(): boolean {
    return INFERENCE_FAILURES[this.failure.type] === "transient";
  }
}

export interface InferenceOptions {
  readonly signal: AbortSignal;
  /** The longest wait that the caller makes for a vendor that asks for one: a pool does not stay for more. */
  readonly maxRetryAfterMs?: number;
}

/**
 * One model API. `stream` may fail when it opens (rejects) and while it is read (the iteration throws), both with an
 * `InferenceError`. Ending the iteration early releases the connection. The signal ends every wait.
 */
export interface Provider {
  readonly name: string;
  stream(request: InferenceRequest, options: InferenceOptions): AsyncIterable<StreamPart> | Promise<AsyncIterable<StreamPart>>;
  /** For APIs that cannot stream; used only when `stream` is made from it. */
  complete?(request: InferenceRequest, options: InferenceOptions): Promise<Turn>;
  /** False when one name stands for several models; a run then cannot ask for another upstream model. Default true. */
  readonly canOverrideModel?: boolean;
  /** Told by the loop, because only it sees a stream run dry or stall. */
  readonly observer?: StreamObserver;
}

export interface StreamObserver {
  drained(request: InferenceRequest): void;
  failed(request: InferenceRequest, failure: InferenceFailure): void;
  /** Whether the inference of a stream that failed goes on with somebody else: then nobody waits for the one that failed. */
  hasMoved?(request: InferenceRequest): boolean;
}

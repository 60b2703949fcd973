import type { AssistantContent, ProviderMetadata } from "./content.ts";
import type { RunId, ThreadId, ToolCallId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { Message } from "./message.ts";
import type { ToolCall, ToolDescriptor } from "./tool.ts";
import type { Usage } from "./usage.ts";

export type ReasoningEffort =
  | "none"
  | "low"
  | "medium"
  | "high"
  | "max"
  | {
      /** At most this many tokens of thought. */
      readonly budget: number;
    };

/** Parameters that may be set per agent, run or step; the nearest wins, field by field. */
export interface InferenceOverride {
  /** Another model of the same provider, by the vendor's name. */
  readonly upstreamModel?: string;
  /** As the vendor takes it; left out, the vendor's default. */
  readonly temperature?: number;
  /** The longest answer, in tokens. */
  readonly maxTokens?: number;
  /** As the vendor takes it; left out, the vendor's default. */
  readonly topP?: number;
  /** How long the model may think, in words or in tokens. */
  readonly reasoningEffort?: ReasoningEffort;
}

/** Lets a pool keep a conversation on one member. */
export interface RoutingKey {
  /** Keeps a thread on one member. */
  readonly threadId?: ThreadId;
  /** Keeps a run on one member. */
  readonly runId?: RunId;
  /** What is used when there is neither thread nor run. */
  readonly fallback?: string;
  /** The same for every attempt of one logical inference. */
  readonly inferenceId?: string;
}

export interface InferenceRequest {
  /** The vendor's name of the model. */
  readonly model: string;
  /** The instructions, with all that plugins put beside them. */
  readonly system: string;
  /** The conversation. It is the runtime's own list: read it, and do not keep it. */
  readonly messages: readonly Message[];
  /** Sorted by id. */
  readonly tools: readonly ToolDescriptor[];
  /** What agent, run and step ask for, already merged. */
  readonly overrides?: Omit<InferenceOverride, "upstreamModel">;
  /** Whether the vendor may keep the beginning of the prompt. */
  readonly promptCache: boolean;
  /** For pools: which requests belong together. */
  readonly routing?: RoutingKey;
  /** For the vendor alone, under its name. */
  readonly providerOptions?: ProviderMetadata;
  /** Asks for an answer that fits this JSON Schema, where the vendor can. */
  readonly responseFormat?: {
    /** JSON Schema of the answer. */
    readonly schema: JsonObject;
    /** What the vendor calls the schema by, where it wants a name. */
    readonly name?: string;
  };
}

export const STOP_REASONS = ["end-turn", "max-tokens", "tool-use", "stop-sequence", "content-filter"] as const;
export type StopReason = (typeof STOP_REASONS)[number];

/**
 * What a provider yields while it answers. `tool-call-start` comes before every delta of that call; a call's deltas
 * are fragments of its JSON input; `usage` may come more than once and adds up; `stop` is last.
 */
export type StreamPart =
  | {
      readonly type: "text-delta";
      /** Text to be added; it may end inside a character. */
      readonly delta: string;
    }
  | {
      readonly type: "reasoning-delta";
      /** Thought to be added. */
      readonly delta: string;
    }
  | {
      readonly type: "tool-call-start";
      /** The vendor's id of the call; a repeated one is made unique. */
      readonly id: string;
      /** The id of the tool. */
      readonly name: string;
      /** The vendor runs it itself. */
      readonly executed?: "provider";
    }
  | {
      readonly type: "tool-call-delta";
      /** Of the call that was started before. */
      readonly id: string;
      /** A piece of the JSON of its input. */
      readonly delta: string;
    }
  /** Ends the text or reasoning in progress and gives it what the vendor wants back with it. */
  | {
      readonly type: "block-end";
      /** Proof that the vendor wrote the part; sent back with it. */
      readonly signature?: string;
      /** What the vendor wants back with the part. */
      readonly providerMetadata?: ProviderMetadata;
    }
  /** Vendor data that belongs to a call, e.g. a thought signature. */
  | {
      readonly type: "tool-call-metadata";
      /** Of the call that was started before. */
      readonly id: string;
      /** What the vendor wants back with the call. */
      readonly providerMetadata: ProviderMetadata;
    }
  /** A whole part that has no deltas: a file, the result of a call that the vendor ran. */
  | {
      readonly type: "content";
      /** Becomes part of the assistant message as it is. */
      readonly content: AssistantContent;
    }
  | {
      readonly type: "source";
      /** Where the answer comes from, as the vendor tells it. */
      readonly source: JsonObject;
    }
  | {
      readonly type: "warning";
      /** Something that the vendor ignored or changed; it is logged. */
      readonly message: string;
    }
  /** Which answer this is, as the vendor names it; the last one counts. */
  | ({ readonly type: "response" } & ResponseFacts)
  | {
      readonly type: "usage";
      /** Adds to what came before. */
      readonly usage: Usage;
    }
  | {
      readonly type: "stop";
      /** Why the model ended its turn. */
      readonly reason: StopReason;
    };

/** What a vendor says of its own answer. */
export interface ResponseFacts {
  /** The vendor's id of the answer. */
  readonly id?: string;
  /** The exact model that answered. */
  readonly model?: string;
}

interface TurnBody {
  /** All text parts, joined. */
  readonly text: string;
  /** Everything that the model said, in order; becomes the assistant message. */
  readonly content: readonly AssistantContent[];
  /** The calls that we are asked to run. */
  readonly toolCalls: readonly ToolCall[];
  /** Of this inference alone. */
  readonly usage: Usage;
  /** The name that answered, where the vendor tells it. */
  readonly model: string;
  /** From the request to the last part. */
  readonly durationMs: number;
  /** Which answer it is, where the vendor tells it. */
  readonly response?: ResponseFacts;
  /** Of a pool: the id of the model, in the registry, that answered last. */
  readonly servedBy?: string;
  /** Calls whose input was not JSON; they are not in `toolCalls`. */
  readonly malformedCalls: readonly {
    /** As the vendor named it. */
    readonly id: ToolCallId;
    /** The tool that was meant. */
    readonly name: string;
  }[];
}

/** What one inference gave. A failed one has what was collected until then and says why it failed. */
export type Turn = TurnBody &
  (
    | {
        /** Why the turn ended; `error` has a failure beside it. */
        readonly stopReason: StopReason;
      }
    | {
        /** Why the turn ended; `error` has a failure beside it. */
        readonly stopReason: "error";
        /** Why it failed, and whether another try makes sense. */
        readonly failure: InferenceFailure;
      }
  );

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
  /** Decides whether it is tried again. */
  readonly type: InferenceFailureType;
  /** For people, without secrets. */
  readonly message: string;
  /** How long the vendor asks to wait. */
  readonly retryAfterMs?: number;
}

/** What a provider throws, from `stream` or from its iteration. The type decides about retries; no other error is retried. */
export class InferenceError extends Error {
  override readonly name = "InferenceError";
  /** What happened, as data. */
  readonly failure: InferenceFailure;

  constructor(failure: InferenceFailure, cause?: unknown) {
    super(failure.message, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }

  /** Whether another try may work. */
  get isTransient(): boolean {
    return INFERENCE_FAILURES[this.failure.type] === "transient";
  }
}

export interface InferenceOptions {
  /** Ends the request and every wait in it. */
  readonly signal: AbortSignal;
  /** The longest wait that the caller makes for a vendor that asks for one: a pool does not stay for more. */
  readonly maxRetryAfterMs?: number;
}

/**
 * One model API. `stream` may fail when it opens (rejects) and while it is read (the iteration throws), both with an
 * `InferenceError`. Ending the iteration early releases the connection. The signal ends every wait.
 */
export interface Provider {
  /** For logs and events; not the id in the registry. */
  readonly name: string;
  /** Asks the model. See above for how it fails and how it is ended. */
  stream(request: InferenceRequest, options: InferenceOptions): AsyncIterable<StreamPart> | Promise<AsyncIterable<StreamPart>>;
  /** For APIs that cannot stream; used only when `stream` is made from it. */
  complete?(request: InferenceRequest, options: InferenceOptions): Promise<Turn>;
  /** False when one name stands for several models; a run then cannot ask for another upstream model. Default true. */
  readonly canOverrideModel?: boolean;
  /** Told by the loop, because only it sees a stream run dry or stall. */
  readonly observer?: StreamObserver;
}

export interface StreamObserver {
  /** The stream of this request was read to its end. */
  drained(request: InferenceRequest): void;
  /** The stream of this request broke or fell silent after it was opened. */
  failed(request: InferenceRequest, failure: InferenceFailure): void;
  /** Whether the inference of a stream that failed goes on with somebody else: then nobody waits for the one that failed. */
  hasMoved?(request: InferenceRequest): boolean;
  /** The id of the model that this request was passed on to, where one name stands for several. */
  servedBy?(request: InferenceRequest): string | undefined;
}

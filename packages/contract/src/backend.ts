import type { AgentEvent } from "./event.ts";
import type { RunIdentity } from "./identity.ts";
import type { RunId, ThreadId, ToolCallId } from "./ids.ts";
import type { InferenceOverride } from "./inference.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Message } from "./message.ts";
import type { PersistedState } from "./state.ts";
import type { Termination } from "./termination.ts";
import type { ToolDescriptor } from "./tool.ts";
import type { Usage } from "./usage.ts";

/** What a backend can do, the weakest first. */
export const BACKEND_DIMENSIONS = {
  cancellation: ["none", "cooperative-token", "remote-abort", "cooperative-token-and-remote-abort"],
  continuation: ["none", "in-process-state", "remote-state"],
  decisions: ["none", "live-only", "durable-resume", "live-and-durable"],
  overrides: ["none", "inference-params", "model-and-params"],
  frontendTools: ["none", "descriptors-only", "executable"],
  persistence: ["ephemeral", "checkpoint", "cross-session"],
  waits: ["none", "input", "auth", "input-and-auth"],
  transcript: ["single-prompt", "incremental-user-messages-with-remote-state", "full-transcript"],
  output: ["text", "text-and-artifacts"],
} as const;

export type BackendDimension = keyof typeof BACKEND_DIMENSIONS;

/** What a backend supports, or what is asked of it, in every respect. */
export type BackendProfile = { readonly [Name in BackendDimension]: (typeof BACKEND_DIMENSIONS)[Name][number] };

/** What became of a run, wherever it was executed. */
export type BackendStatus =
  | { readonly type: "completed" }
  | {
      /** What it waits for: something that is said, a sign-in, or a decision. */
      readonly type: "waiting-input" | "waiting-auth" | "suspended";
      /** What it waits for, for people. */
      readonly message?: string;
    }
  | {
      readonly type: "failed";
      /** Why. */
      readonly message: string;
    }
  | { readonly type: "cancelled" }
  | { readonly type: "timeout" };

/** A file, an image or data that a run gave beside its text. */
export interface Artifact {
  /** As the agent named it. */
  readonly id?: string;
  /** For people. */
  readonly name?: string;
  /** `text/csv`, `image/png`, … */
  readonly mediaType?: string;
  /** The thing itself, or where it is. */
  readonly content: JsonValue;
}

export interface BackendOutput {
  /** The answer; absent when there was none. */
  readonly text?: string;
  /** What came beside it. */
  readonly artifacts: readonly Artifact[];
  /** What the backend got, as it got it. */
  readonly raw?: JsonValue;
}

export interface BackendResult {
  /** The agent that was asked. */
  readonly agentId: string;
  /** What became of it. A wait wins over the termination. */
  readonly status: BackendStatus;
  /** Why it ended. */
  readonly termination: Termination;
  /** Why it waits, or which limit it hit. */
  readonly statusReason?: string;
  /** The final text of the agent; absent when it is empty. */
  readonly response?: string;
  /** The answer, with what came beside the text. */
  readonly output: BackendOutput;
  /** How many inferences it took; 1 where nobody knows. */
  readonly steps: number;
  /** Tokens, as far as they are known. */
  readonly usage?: Usage;
  /** Its run, where it has one. */
  readonly runId?: RunId;
  /** Keys of the run that persist, from backends that know them. */
  readonly state?: PersistedState;
  /** Keys of its thread. */
  readonly threadState?: PersistedState;
}

/** How a delegated run is kept. `ephemeral`: with its caller, and no longer. `durable`: with records of its own. */
export type DelegatePersistence = "ephemeral" | "durable";

interface BackendRequestBase {
  /** The agent that is asked. */
  readonly agentId: string;
  /** The whole conversation. */
  readonly messages: readonly Message[];
  /** What this turn brings; the same for a fresh delegation. */
  readonly newMessages: readonly Message[];
  /** Reaches whoever listens to the run. */
  emit(event: AgentEvent): void;
  /** Offered to backends that can be told to stop; for others it never aborts. */
  readonly signal: AbortSignal;
}

/** What the backend keeps between two turns of a thread: it is JSON, and rides in the commits of the run. */
export interface RemoteState {
  /** As it was kept last, by this run or by the one before it on the thread. */
  readonly stored: JsonValue | undefined;
  /** On record when it resolves, with the run as running. */
  keep(state: JsonObject): Promise<void>;
}

export interface RootRequest extends BackendRequestBase {
  readonly role: "root";
  /** The run that it is for. */
  readonly identity: RunIdentity;
  /** Only for backends that take them. */
  readonly overrides?: InferenceOverride;
  /** Only for backends that take them. */
  readonly frontendTools: readonly ToolDescriptor[];
  /** The same run goes on: it waited, or its process died. */
  readonly isContinuation: boolean;
  /** What is kept between two turns. */
  readonly remote: RemoteState;
}

/** Who asks. */
export interface DelegateParent {
  /** Its run. */
  readonly runId?: RunId;
  /** The thread of that run. */
  readonly threadId?: ThreadId;
  /** The call that waits for the answer. */
  readonly toolCallId?: ToolCallId;
}

/** How the answer is kept. */
export interface DelegatePolicy {
  /** What is kept of the run. */
  readonly persistence: DelegatePersistence;
  /** A delegated run is asked once. */
  readonly continuation: "disabled";
}

export interface DelegateRequest extends BackendRequestBase {
  readonly role: "delegate";
  /** Who asks. */
  readonly parent: DelegateParent;
  /** How the answer is kept. */
  readonly policy: DelegatePolicy;
  /** Values for state keys of the child. */
  readonly stateSeed?: JsonObject;
}

export type BackendRequest = RootRequest | DelegateRequest;

export interface BackendAbort {
  /** The agent that was asked. */
  readonly agentId: string;
  /** The run that it was asked for. */
  readonly identity: RunIdentity;
  /** What `keep` was given last. */
  readonly stored: JsonValue | undefined;
}

/** Where a plan executes. Throws `remote_failed` or another error of ours; what the agent itself failed with is a result. */
export interface Backend {
  /** What it can do. */
  readonly profile: BackendProfile;
  /** Asks the agent, and waits for its answer. */
  run(request: BackendRequest): Promise<BackendResult>;
  /** Best effort: what is under way elsewhere for this run is told to stop. */
  abort?(request: BackendAbort): Promise<void>;
}

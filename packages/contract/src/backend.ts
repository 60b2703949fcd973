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
  | { readonly type: "waiting-input"; readonly message?: string }
  | { readonly type: "waiting-auth"; readonly message?: string }
  | { readonly type: "suspended"; readonly message?: string }
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "cancelled" }
  | { readonly type: "timeout" };

/** A file, an image or data that a run gave beside its text. */
export interface Artifact {
  readonly id?: string;
  readonly name?: string;
  readonly mediaType?: string;
  readonly content: JsonValue;
}

export interface BackendOutput {
  /** The answer; absent when there was none. */
  readonly text?: string;
  readonly artifacts: readonly Artifact[];
  /** What the backend got, as it got it. */
  readonly raw?: JsonValue;
}

export interface BackendResult {
  readonly agentId: string;
  readonly status: BackendStatus;
  readonly termination: Termination;
  /** Why it waits, or which limit it hit. */
  readonly statusReason?: string;
  /** The final text of the agent; absent when it is empty. */
  readonly response?: string;
  readonly output: BackendOutput;
  readonly steps: number;
  readonly usage?: Usage;
  readonly runId?: RunId;
  /** Keys of the run that persist, from backends that know them. */
  readonly state?: PersistedState;
  /** Keys of its thread. */
  readonly threadState?: PersistedState;
}

/** How a delegated run is kept. `ephemeral`: with its caller, and no longer. `durable`: with records of its own. */
export type DelegatePersistence = "ephemeral" | "durable";

interface BackendRequestBase {
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
  readonly identity: RunIdentity;
  readonly overrides?: InferenceOverride;
  readonly frontendTools: readonly ToolDescriptor[];
  readonly isContinuation: boolean;
  readonly remote: RemoteState;
}

export interface DelegateRequest extends BackendRequestBase {
  readonly role: "delegate";
  readonly parent: { readonly runId?: RunId; readonly threadId?: ThreadId; readonly toolCallId?: ToolCallId };
  readonly policy: { readonly persistence: DelegatePersistence; readonly continuation: "disabled" };
  /** Values for state keys of the child. */
  readonly stateSeed?: JsonObject;
}

export type BackendRequest = RootRequest | DelegateRequest;

export interface BackendAbort {
  readonly agentId: string;
  readonly identity: RunIdentity;
  /** What `keep` was given last. */
  readonly stored: JsonValue | undefined;
}

/** Where a plan executes. Throws `backend_failed`, `remote_failed` or `agent_not_found`; what the agent itself failed with is a result. */
export interface Backend {
  readonly profile: BackendProfile;
  run(request: BackendRequest): Promise<BackendResult>;
  /** Best effort: what is under way elsewhere for this run is told to stop. */
  abort?(request: BackendAbort): Promise<void>;
}

import type { InferenceFailureType, JsonValue, StopReason, Usage } from "@awaken/contract";

/** Which run an event is of, and what it ran with. */
export interface TelemetryContext {
  /** The run, the same across suspensions and processes. */
  readonly runId: string;
  /** The thread of the run. */
  readonly threadId: string;
  /** The agent that acts. */
  readonly agentId: string;
  /** The run that started this one. */
  readonly parentRunId?: string;
  /** The call of that run that started this one. */
  readonly parentToolCallId?: string;
  /** Changes with the agent's instructions: 12 hex digits of their hash. */
  readonly promptId?: string;
  /** The same for each tool of the agent: its name, description and schema. */
  readonly toolDescIds: readonly string[];
  /** The same for each skill that is active. */
  readonly skillIds: readonly string[];
  /** What the program calls this version of itself. */
  readonly releaseTag?: string;
  /** The experiment that the run takes part in. */
  readonly experimentId?: string;
  /** Which variant of it this is. */
  readonly variantName?: string;
}

interface Timed {
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** The difference. */
  readonly durationMs: number;
}

interface InRun {
  /** Which run it happened in. */
  readonly context: TelemetryContext;
}

interface At {
  /** When it happened, in Unix milliseconds. */
  readonly at: number;
}

/** One answer of a model, with its retries. */
export interface InferenceEvent extends InRun, Timed {
  readonly type: "inference";
  /** Counted from the beginning of the run. */
  readonly step: number;
  /** The name that the provider knows the model by; of a pool that of the member that answered. */
  readonly model: string;
  /** The id of the provider in the registry. */
  readonly provider: string;
  /** The exact model that answered, where the vendor tells it. */
  readonly responseModel?: string;
  /** The vendor's id of the answer. */
  readonly responseId?: string;
  /** Why the model stopped; absent when it failed. */
  readonly finishReason?: StopReason;
  /** Why it failed; absent when it did not. */
  readonly errorType?: InferenceFailureType | "inference_retry_interrupted" | "internal";
  /** Whether it could have been tried again. */
  readonly errorClass?: "transient" | "permanent" | "fail-fast";
  /** What the failure said; only where messages are captured, because vendors repeat what they were sent. */
  readonly errorMessage?: string;
  /** Tokens, as far as the vendor counted them. */
  readonly usage: Usage;
  /** What it cost in US dollars; absent unless the model has both prices. */
  readonly costUsd?: number;
  /** As it was asked for; absent: the vendor's default. */
  readonly temperature?: number;
  /** As it was asked for; absent: the vendor's default. */
  readonly topP?: number;
  /** As it was asked for; absent: the vendor's default. */
  readonly maxTokens?: number;
  /** How often it was asked again. */
  readonly retries: number;
  /** What was said; only where messages are captured. */
  readonly responseContent?: JsonValue;
  /** The calls that were asked for; only where messages are captured. */
  readonly responseToolCalls?: JsonValue;
  /** The prompt; only of the first step, and only where messages are captured. */
  readonly requestMessages?: JsonValue;
}

/** One call of a tool that has its result. */
export interface ToolEvent extends InRun, Timed {
  readonly type: "tool";
  /** Counted from the beginning of the run. */
  readonly step: number;
  /** The id of the tool. */
  readonly name: string;
  /** Unique in its turn. */
  readonly callId: string;
  /** The call failed, or its run ended before it had a result; absent when it succeeded. */
  readonly errorType?: "tool_error" | "missing_tool_result";
  /** The code of the failure: `denied`, `timeout`, …, or the tool's own. */
  readonly errorClass?: string;
  /** What it was called with; only where that is captured. */
  readonly arguments?: JsonValue;
  /** What it gave; only where that is captured. */
  readonly result?: JsonValue;
  /** The model made the name up: there is no such tool. */
  readonly isUnknown?: true;
}

/** What counts of a tool are kept under. A model may make up as many names as it likes: those are one. */
export const toolLabel = ({ name, isUnknown }: ToolEvent): string => (isUnknown === true ? "unknown" : name);

/** A call began to wait for a decision, or has one. */
export interface SuspensionEvent extends InRun, At {
  readonly type: "suspension";
  /** The call that waits. */
  readonly toolCallId: string;
  /** The id of its tool. */
  readonly toolName: string;
  /** Whether it waits or goes on. */
  readonly action: "suspended" | "resumed";
  /** `cancel`: somebody said no. */
  readonly resumeMode?: "resume" | "cancel";
  /** How long it waited, where that is known. */
  readonly durationMs?: number;
}

/** Another agent has the run. */
export interface HandoffEvent extends InRun, At {
  readonly type: "handoff";
  /** The agent that had it. */
  readonly fromAgentId: string;
  /** The agent that has it. */
  readonly toAgentId: string;
}

/** A run that this one started is over, or waits. */
export interface DelegationEvent extends InRun, At {
  readonly type: "delegation";
  /** The run that was started. */
  readonly childRunId: string;
  /** Its agent. */
  readonly targetAgentId: string;
  /** The call that it answers; absent when none waits for it. */
  readonly toolCallId?: string;
  /** Whether it came to its end, or waits. */
  readonly success: boolean;
  /** The code of its failure. */
  readonly errorType?: string;
  /** From its start to here, when both were seen. */
  readonly durationMs?: number;
}

/** What somebody thinks of an answer. Programs record it with a sink's `record`. */
export interface EvaluationEvent extends InRun, At {
  readonly type: "evaluation-result";
  /** What was judged. */
  readonly name: string;
  /** The verdict in a word. */
  readonly scoreLabel?: string;
  /** The verdict as a number, 0 to 1. */
  readonly scoreValue?: number;
  /** Why. */
  readonly explanation?: string;
  /** The vendor's id of the answer. */
  readonly responseId?: string;
  /** Why there is no verdict. */
  readonly errorType?: string;
}

/** How work in the background stands. Whoever runs such work records it with a sink's `record`. */
export interface BackgroundTaskEvent extends InRun {
  readonly type: "background-task";
  /** Names the work. */
  readonly taskId: string;
  /** What kind of work. */
  readonly taskType: string;
  /** A name for people. */
  readonly taskName?: string;
  /** How it stands. */
  readonly status: "running" | "completed" | "failed" | "cancelled";
  /** The work that this is part of. */
  readonly parentTaskId?: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Unix milliseconds; absent while it runs. */
  readonly completedAt?: number;
}

/** The run ended here, or waits, or handed over: what it came to since it began or was resumed. */
export interface RunEvent extends InRun, Timed {
  readonly type: "run";
  /** What became of it; `handoff`: it goes on with another agent. */
  readonly outcome: "done" | "waiting" | "stopped" | "cancelled" | "blocked" | "failed" | "handoff";
  /** The code of its failure. */
  readonly errorType?: string;
  /** How many answers it asked for. */
  readonly inferences: number;
  /** How many calls had their results. */
  readonly tools: number;
  /** How many of those failed. */
  readonly toolFailures: number;
  /** Tokens of these answers. */
  readonly usage: Usage;
  /** What they cost in US dollars, as far as prices are known. */
  readonly costUsd?: number;
}

/** What sinks are told, told apart by `type`. */
export type TelemetryEvent =
  | InferenceEvent
  | ToolEvent
  | SuspensionEvent
  | HandoffEvent
  | DelegationEvent
  | EvaluationEvent
  | BackgroundTaskEvent
  | RunEvent;

/** Whether something went wrong: such a run is always kept. */
export function isFailure(event: TelemetryEvent): boolean {
  switch (event.type) {
    case "inference":
    case "tool":
    case "evaluation-result":
      return event.errorType !== undefined;
    case "delegation":
      return !event.success;
    case "background-task":
      return event.status === "failed";
    case "run":
      return event.outcome === "failed";
    case "suspension":
    case "handoff":
      return false;
  }
}

import type { ClosedTicket, DecidedTicket } from "./builtin-state.ts";
import { AwakenError } from "./error.ts";
import type { RunIdentity } from "./identity.ts";
import type { DispatchId, MessageId, RunId, ThreadId } from "./ids.ts";
import type { InferenceOverride } from "./inference.ts";
import { type JsonObject, type JsonValue, sameJson } from "./json.ts";
import type { PersistedState } from "./state.ts";
import type { WaitingReason } from "./statuses.ts";
import type { Ticket } from "./suspension.ts";
import { canRunMove, type Termination } from "./termination.ts";
import type { ToolDescriptor } from "./tool.ts";
import type { AgentUsage, ModelUsage, Usage } from "./usage.ts";

export const RUN_SCHEMA_VERSION = 2;

/** Why the run was activated: for a new request, with decisions about its tickets, or to go on where it stopped. */
export type RunIntent =
  | { readonly type: "new-intent" }
  | { readonly type: "hitl-resume"; readonly runId: RunId }
  | { readonly type: "continuation-from-run"; readonly runId: RunId };

/** Where the activation came from: the identity of the run without what the record says itself. */
export type RunTrace = Omit<
  RunIdentity,
  "threadId" | "runId" | "agentId" | "dispatchId" | "sessionId" | "traceParent" | "parentRunId" | "rootRunId"
>;

/** What is asked of a run besides its input, the one spelling that is stored and that the loop reads. */
export interface RunOptions {
  readonly overrides?: InferenceOverride;
  readonly frontendTools: readonly ToolDescriptor[];
  /** What the page shows, for the model to read before the newest message; no message of the log. */
  readonly frontendContext?: JsonObject;
  /** What the client sent beside its messages, for tools and hooks. */
  readonly extras?: JsonObject;
  /** JSON Schema of the answer: whoever goes on with the run asks for the same. */
  readonly output?: JsonObject;
  /** How often an answer that does not fit is asked for again; absent stands for the default. */
  readonly outputRetries?: number;
}

/** The data of an activation. With the record's `input` and the log it is enough to build the request again after a crash. */
export interface RunActivation {
  readonly intent: RunIntent;
  readonly options: RunOptions;
  readonly trace: RunTrace;
  /** The frozen configuration that the run is pinned to. */
  readonly resolutionId?: string;
}

/** Rows of the thread's log by seq: 1-based, inclusive, not empty. */
export interface MessageRange {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** The messages that the run answers. */
export interface RunInput {
  readonly range?: MessageRange;
  readonly triggerMessageIds: readonly MessageId[];
  readonly selectedMessageIds: readonly MessageId[];
}

export interface RunWaiting {
  readonly reason: WaitingReason;
  /** In call order. Ids are unique; empty when the run waits for something else than a decision. */
  readonly tickets: readonly Ticket[];
  readonly sinceDispatchId?: DispatchId;
  readonly message?: string;
}

export type FinalTermination = Exclude<Termination, { readonly type: "suspended" }>;

export interface RunEnding {
  readonly termination: FinalTermination;
  readonly response: string;
  readonly output?: JsonValue;
}

interface RunBody {
  readonly schemaVersion: typeof RUN_SCHEMA_VERSION;
  readonly runId: RunId;
  readonly threadId: ThreadId;
  readonly agentId: string;
  /** The run that made this one, and the first of that line; absent for a run that nobody made. Neither ever changes. */
  readonly parentRunId?: RunId;
  readonly rootRunId?: RunId;
  /** On whose behalf, and which trace it belongs to (W3C `traceparent`): whoever resumes the run goes on with both. */
  readonly principal?: JsonObject;
  readonly traceParent?: string;
  readonly activation: RunActivation;
  readonly input: RunInput;
  /** First and last message that the run wrote. Others may lie between: the messages themselves name their run. */
  readonly output?: MessageRange;
  /** The dispatch that last executed the run, and its instance. */
  readonly dispatchId?: DispatchId;
  readonly sessionId?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly steps: number;
  readonly usage: Usage;
  /** The same by model; absent while none was asked. */
  readonly usageByModel?: readonly ModelUsage[];
  /** There when the run has started others: what those used that have no records of their own. */
  readonly usageBelow?: readonly AgentUsage[];
  /** Id of the first assistant message, for whoever shows the run as one answer. */
  readonly answerId?: MessageId;
  /** Run-scoped keys. */
  readonly state?: PersistedState;
  /** Decisions that were applied, so that a repeated one is recognised after its ticket is gone. */
  readonly decided: readonly DecidedTicket[];
  /** Tickets that were closed without a decision: their calls were given up. */
  readonly closed?: readonly ClosedTicket[];
}

export interface CreatedRun extends RunBody {
  readonly status: "created";
}

export interface RunningRun extends RunBody {
  readonly status: "running";
  readonly startedAt: number;
  /** Calls that wait while others of their turn still run, in call order; absent when there is none. */
  readonly tickets?: readonly Ticket[];
}

export interface WaitingRun extends RunBody {
  readonly status: "waiting";
  readonly startedAt: number;
  readonly waiting: RunWaiting;
}

export interface DoneRun extends RunBody {
  readonly status: "done";
  /** Absent when the run was cancelled or failed before it began. */
  readonly startedAt?: number;
  readonly finishedAt: number;
  readonly outcome: RunEnding;
}

/** The whole run as its writer sees it; a commit replaces the stored one with it. */
export type RunProjection = CreatedRun | RunningRun | WaitingRun | DoneRun;

/** A stored run. `ordinal` counts the runs of a thread from 1; the store gives it at the first write and it breaks ties of time. */
export type RunRecord = RunProjection & { readonly ordinal: number };

/**
 * Throws `illegal_transition` unless a store may replace `before` with `after`: the status moves by the table, the run stays the same
 * run, and a done run stays as it is (writing it again unchanged is allowed, so that a retried commit is harmless).
 */
export function checkRunTransition(before: RunRecord, after: RunProjection): void {
  const refuse = (why: string) =>
    new AwakenError("illegal_transition", `run '${before.runId}' ${why}`, {
      details: { runId: before.runId, from: before.status, to: after.status },
    });
  if (!canRunMove(before.status, after.status)) throw refuse(`cannot go from ${before.status} to ${after.status}`);
  if (after.runId !== before.runId || after.threadId !== before.threadId || after.createdAt !== before.createdAt) {
    throw refuse("cannot change its id, thread or time of creation");
  }
  if (after.parentRunId !== before.parentRunId || after.rootRunId !== before.rootRunId) throw refuse("cannot change its family");
  if (before.status === "done" && !sameJson(before, { ...after, ordinal: before.ordinal })) throw refuse("is done and cannot change");
}

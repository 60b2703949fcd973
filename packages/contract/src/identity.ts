import type { DispatchId, RunId, ThreadId, ToolCallId } from "./ids.ts";

export const ORIGINS = ["user", "mcp", "subagent", "internal"] as const;
export const RUN_MODES = ["foreground", "scheduled", "resume", "internal-wake"] as const;
export const ADAPTERS = ["internal", "acp", "ai-sdk", "ag-ui", "a2a", "mcp"] as const;

export type Origin = (typeof ORIGINS)[number];
export type RunMode = (typeof RUN_MODES)[number];
export type Adapter = (typeof ADAPTERS)[number];

/** A run, and the thread that it is on. */
export interface RunPlace {
  /** Its id. */
  readonly runId: RunId;
  /** The thread whose log tells of it. */
  readonly threadId: ThreadId;
}

/** Who a run is and where it came from. Constant for the run, across steps and handoffs. */
export interface RunIdentity {
  /** The conversation that the run belongs to. */
  readonly threadId: ThreadId;
  /** The run itself, the same across suspensions and processes. */
  readonly runId: RunId;
  /** The agent that the run began with. */
  readonly agentId: string;
  /** Who asked for it: a person, another agent, a server. */
  readonly origin: Origin;
  /** Whether somebody waits for it, or it was scheduled, resumed or woken. */
  readonly runMode: RunMode;
  /** The protocol that it came in by. */
  readonly adapter: Adapter;
  /** The thread of the run that started this one. */
  readonly parentThreadId?: ThreadId;
  /** The run that started this one. */
  readonly parentRunId?: RunId;
  /** The first run of the line that it comes from; the parent, unless that has one itself. */
  readonly rootRunId?: RunId;
  /** The agents of the runs from the first of the line to this one; absent for a run that no other made. */
  readonly agentPath?: readonly string[];
  /** The runs above it, from the first of the line to its parent: their followers hear of its tickets. Absent for a run that no other made. */
  readonly ancestors?: readonly RunPlace[];
  /** The call of the parent run that started this one. */
  readonly parentToolCallId?: ToolCallId;
  /** The background task of the parent's thread that this run is: nobody's call waits for it, and its end is news for that thread. */
  readonly taskId?: string;
  /** The entry of the queue that it was taken from. */
  readonly dispatchId?: DispatchId;
  /** The session of the client, as the caller named it. */
  readonly sessionId?: string;
  /** The request that brought it, as the transport named it. */
  readonly transportRequestId?: string;
  /** What the caller ties its own records together with. */
  readonly correlationId?: string;
  /** The trace that the run belongs to, as the W3C header `traceparent` has it. It is kept with the run: whoever goes on with it, goes on in it. */
  readonly traceParent?: string;
}

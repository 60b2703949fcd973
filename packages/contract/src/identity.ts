import type { DispatchId, RunId, ThreadId, ToolCallId } from "./ids.ts";

export const ORIGINS = ["user", "mcp", "subagent", "internal"] as const;
export const RUN_MODES = ["foreground", "scheduled", "resume", "internal-wake"] as const;
export const ADAPTERS = ["internal", "acp", "ai-sdk", "ag-ui", "a2a", "mcp"] as const;

export type Origin = (typeof ORIGINS)[number];
export type RunMode = (typeof RUN_MODES)[number];
export type Adapter = (typeof ADAPTERS)[number];

/** Who a run is and where it came from. Constant for the run, across steps and handoffs. */
export interface RunIdentity {
  readonly threadId: ThreadId;
  readonly runId: RunId;
  readonly agentId: string;
  readonly origin: Origin;
  readonly runMode: RunMode;
  readonly adapter: Adapter;
  readonly parentThreadId?: ThreadId;
  readonly parentRunId?: RunId;
  readonly parentToolCallId?: ToolCallId;
  readonly dispatchId?: DispatchId;
  readonly sessionId?: string;
  readonly transportRequestId?: string;
  readonly correlationId?: string;
}

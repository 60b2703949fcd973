import type { AgentEvent } from "@awaken/contract";

/** Why nothing comes: the model refused or broke off, and is asked again. */
export type Retry = Pick<Extract<AgentEvent, { type: "inference-retry" }>, "attempt" | "delayMs" | "reason">;

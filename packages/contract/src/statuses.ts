// How runs stand, in words.

export const RUN_STATUSES = ["created", "running", "waiting", "done"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const WAITING_REASONS = [
  "suspended",
  "child-run",
  "awaiting-tasks",
  "input-required",
  "auth-required",
  "rate-limit",
  "manual-pause",
] as const;
export type WaitingReason = (typeof WAITING_REASONS)[number];

/** How a run looks to whoever asked for it. A record says `done` for all but `waiting`; a person wants to know whether it worked. */
export const CONCLUSIONS = ["waiting", "done", "stopped", "cancelled", "blocked", "failed"] as const;
export type ConclusionStatus = (typeof CONCLUSIONS)[number];

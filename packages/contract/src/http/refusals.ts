import type { ErrorCode } from "../error-table.ts";

/** An agent that cannot be made ready to run: it is not there, or something that it names is not, or does not fit. */
const RESOLVING = [
  "agent_not_found",
  "model_not_found",
  "plugin_not_found",
  "provider_not_found",
  "invalid_plugin_config",
  "invalid_schema",
  "unsupported_persistence",
  "capability_mismatch",
] as const;

/** Somebody else wrote to the thread at the same moment. */
const RACING = ["thread_already_running", "version_conflict", "message_version_conflict", "fence_lost"] as const;

/** What whoever says something to an agent may be refused with. */
export const SUBMITTING = [
  "invalid_activation",
  "invalid_id",
  "invalid_resume",
  "storage_validation",
  "pending_selection_conflict",
  "storage_already_exists",
  "idempotency_conflict",
  ...RESOLVING,
  ...RACING,
] as const satisfies readonly ErrorCode[];

/** What whoever decides a ticket may be refused with: the run goes on where he asks. */
export const DECIDING = [
  "invalid_activation",
  "invalid_resume",
  "storage_validation",
  "ticket_not_found",
  "ticket_not_open",
  "ticket_not_editable",
  "ticket_expired",
  "decision_conflict",
  "idempotency_conflict",
  "ambiguous_id",
  "channel_closed",
  "run_not_found",
  "thread_not_found",
  ...RESOLVING,
  ...RACING,
] as const satisfies readonly ErrorCode[];

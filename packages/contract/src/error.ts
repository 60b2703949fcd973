import type { JsonObject } from "./json.ts";

/**
 * Every error code, with the HTTP status a server answers for it. Codes are stable; messages are for people.
 * 499 marks "the caller went away or cancelled".
 */
export const ERROR_STATUS = {
  // state
  revision_conflict: 409,
  mutation_base_revision_mismatch: 500,
  plugin_already_installed: 500,
  plugin_not_installed: 500,
  key_already_registered: 500,
  unknown_key: 500,
  key_decode: 500,
  key_encode: 500,
  reducer_failed: 500,
  parallel_merge_conflict: 500,
  // phases and plugins
  handler_already_registered: 500,
  effect_handler_already_registered: 500,
  profile_key_already_registered: 500,
  profile_key_not_registered: 500,
  unknown_scheduled_action_handler: 500,
  unknown_effect_handler: 500,
  phase_run_loop_exceeded: 500,
  hook_failed: 500,
  invalid_plugin: 500,
  invalid_plugin_config: 400,
  // tools
  tool_already_registered: 500,
  tool_id_conflict: 500,
  invalid_tool: 500,
  // input
  invalid_id: 400,
  invalid_spec: 400,
  invalid_schema: 400,
  invalid_pattern: 400,
  invalid_activation: 400,
  invalid_resume: 409,
  capability_mismatch: 400,
  // registries and resolution
  agent_not_found: 404,
  model_not_found: 404,
  plugin_not_found: 404,
  resolve_failed: 500,
  registry_conflict: 409,
  registry_validation_failed: 400,
  registry_build_failed: 400,
  config_validation_failed: 400,
  unsupported_platform: 500,
  /** A state key, profile, action or effect that is declared wrongly. */
  invalid_definition: 500,
  provider_already_exists: 409,
  provider_not_found: 404,
  provider_in_use: 409,
  unsupported_persistence: 400,
  // run control
  thread_already_running: 409,
  run_not_found: 404,
  thread_not_found: 404,
  ticket_not_found: 404,
  ticket_not_open: 409,
  decision_conflict: 409,
  ambiguous_id: 409,
  channel_closed: 409,
  cancelled: 499,
  timeout: 504,
  // inference
  inference_failed: 502,
  // a run that failed because its inference did: one for each type of inference failure
  inference_provider: 502,
  inference_rate_limited: 429,
  inference_overloaded: 503,
  inference_timeout: 504,
  inference_stream_interrupted: 502,
  inference_context_overflow: 413,
  inference_invalid_request: 502,
  inference_unauthorized: 502,
  inference_model_not_found: 502,
  inference_content_filtered: 422,
  inference_all_models_unavailable: 503,
  inference_pool_attempts_exhausted: 503,
  inference_cancelled: 499,
  output_invalid: 502,
  provider_unavailable: 503,
  // storage
  storage_validation: 400,
  storage_not_found: 404,
  storage_already_exists: 409,
  version_conflict: 409,
  message_version_conflict: 409,
  pending_selection_conflict: 409,
  already_consumed: 409,
  idempotency_conflict: 409,
  illegal_transition: 409,
  fence_lost: 409,
  cursor_expired: 410,
  commit_unknown: 503,
  storage_io: 503,
  storage_corrupt: 500,
  storage_too_new: 500,
  data_integrity: 500,
  // everything else
  internal: 500,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface AwakenErrorInit {
  /** Structured facts for programs. They travel to logs and clients, so they never hold a secret. */
  readonly details?: JsonObject;
  /** What was thrown below, for whoever looks into it. */
  readonly cause?: unknown;
}

/** Messages name what they are about, and what that is may have any length. */
const MAX_MESSAGE = 10_000;

const MARKER = Symbol.for("awaken.error");

/** The one error class: `code` decides what a program does, `message` says what was wrong and what was expected. */
export class AwakenError extends Error {
  override readonly name = "AwakenError";
  /** What a program decides by; it stays the same when the message is worded anew. */
  readonly code: ErrorCode;
  /** The ids and values that the message speaks of, as JSON. */
  readonly details: JsonObject;
  readonly [MARKER] = true;

  constructor(code: ErrorCode, message: string, init: AwakenErrorInit = {}) {
    super(
      message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message,
      init.cause === undefined ? undefined : { cause: init.cause },
    );
    this.code = code;
    this.details = init.details ?? {};
  }

  /** True for our errors, also when two copies of this package are installed. */
  static is(value: unknown): value is AwakenError {
    return typeof value === "object" && value !== null && MARKER in value;
  }

  /** The cause stays out: it may hold what a client must not see. */
  toJSON(): JsonObject {
    return { code: this.code, message: this.message, details: this.details };
  }
}

/** The text of whatever was thrown. */
export function errorMessage(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  try {
    return String(thrown);
  } catch {
    return "something that has no text was thrown";
  }
}

/** What is to be said about an error code before there can be one. */
export interface ErrorRow {
  /** What a server answers for it. 499 marks "the caller went away or cancelled". */
  readonly status: number;
  /** Whether the same request may succeed when it is made again later, with nothing else changed and nothing done twice. */
  readonly canRetry: boolean;
}

/** The one closed table of error codes. Codes are stable; messages are for people. */
export const ERROR_TABLE = {
  // state
  revision_conflict: { status: 409, canRetry: true },
  mutation_base_revision_mismatch: { status: 500, canRetry: false },
  plugin_already_installed: { status: 500, canRetry: false },
  key_already_registered: { status: 500, canRetry: false },
  unknown_key: { status: 500, canRetry: false },
  key_decode: { status: 500, canRetry: false },
  key_encode: { status: 500, canRetry: false },
  reducer_failed: { status: 500, canRetry: false },
  parallel_merge_conflict: { status: 500, canRetry: false },
  // phases and plugins
  handler_already_registered: { status: 500, canRetry: false },
  effect_handler_already_registered: { status: 500, canRetry: false },
  profile_key_already_registered: { status: 500, canRetry: false },
  profile_key_not_registered: { status: 500, canRetry: false },
  unknown_scheduled_action_handler: { status: 500, canRetry: false },
  unknown_effect_handler: { status: 500, canRetry: false },
  phase_run_loop_exceeded: { status: 500, canRetry: false },
  hook_failed: { status: 500, canRetry: false },
  invalid_plugin: { status: 500, canRetry: false },
  invalid_plugin_config: { status: 400, canRetry: false },
  // tools
  tool_already_registered: { status: 500, canRetry: false },
  tool_id_conflict: { status: 500, canRetry: false },
  invalid_tool: { status: 500, canRetry: false },
  // input
  invalid_id: { status: 400, canRetry: false },
  invalid_spec: { status: 400, canRetry: false },
  invalid_schema: { status: 400, canRetry: false },
  invalid_pattern: { status: 400, canRetry: false },
  invalid_activation: { status: 400, canRetry: false },
  invalid_resume: { status: 409, canRetry: false },
  capability_mismatch: { status: 400, canRetry: false },
  // registries and resolution
  agent_not_found: { status: 404, canRetry: false },
  model_not_found: { status: 404, canRetry: false },
  plugin_not_found: { status: 404, canRetry: false },
  resolve_failed: { status: 500, canRetry: false },
  registry_conflict: { status: 409, canRetry: true },
  registry_validation_failed: { status: 400, canRetry: false },
  registry_build_failed: { status: 400, canRetry: false },
  config_validation_failed: { status: 400, canRetry: false },
  unsupported_platform: { status: 500, canRetry: false },
  /** A state key, profile, action or effect that is declared wrongly. */
  invalid_definition: { status: 500, canRetry: false },
  provider_already_exists: { status: 409, canRetry: false },
  provider_not_found: { status: 404, canRetry: false },
  provider_in_use: { status: 409, canRetry: false },
  unsupported_persistence: { status: 400, canRetry: false },
  // other agents
  backend_failed: { status: 502, canRetry: false },
  remote_failed: { status: 502, canRetry: false },
  delegation_depth_exceeded: { status: 400, canRetry: false },
  child_not_completed: { status: 500, canRetry: false },
  /** A background task that may not be started: its name, its thread's limit, or its run that was cancelled. */
  task_refused: { status: 409, canRetry: false },
  /** A background task that cannot be told anything. */
  task_unreachable: { status: 409, canRetry: false },
  // run control
  thread_already_running: { status: 409, canRetry: true },
  run_not_found: { status: 404, canRetry: false },
  thread_not_found: { status: 404, canRetry: false },
  ticket_not_found: { status: 404, canRetry: false },
  ticket_not_open: { status: 409, canRetry: false },
  ticket_not_editable: { status: 409, canRetry: false },
  ticket_expired: { status: 410, canRetry: false },
  decision_conflict: { status: 409, canRetry: false },
  ambiguous_id: { status: 409, canRetry: false },
  channel_closed: { status: 409, canRetry: false },
  /** A run that nobody could bring to an end, after all its attempts. */
  dead_letter: { status: 500, canRetry: false },
  cancelled: { status: 499, canRetry: false },
  timeout: { status: 504, canRetry: true },
  // inference
  inference_failed: { status: 502, canRetry: false },
  // a run that failed because its inference did: one for each type of inference failure
  inference_provider: { status: 502, canRetry: true },
  inference_rate_limited: { status: 429, canRetry: true },
  inference_overloaded: { status: 503, canRetry: true },
  inference_timeout: { status: 504, canRetry: true },
  inference_stream_interrupted: { status: 502, canRetry: true },
  inference_context_overflow: { status: 413, canRetry: false },
  inference_invalid_request: { status: 502, canRetry: false },
  inference_unauthorized: { status: 502, canRetry: false },
  inference_model_not_found: { status: 502, canRetry: false },
  inference_content_filtered: { status: 422, canRetry: false },
  inference_all_models_unavailable: { status: 503, canRetry: true },
  inference_pool_attempts_exhausted: { status: 503, canRetry: true },
  inference_cancelled: { status: 499, canRetry: false },
  output_invalid: { status: 502, canRetry: false },
  provider_unavailable: { status: 503, canRetry: true },
  // storage
  storage_validation: { status: 400, canRetry: false },
  storage_not_found: { status: 404, canRetry: false },
  storage_already_exists: { status: 409, canRetry: false },
  version_conflict: { status: 409, canRetry: true },
  message_version_conflict: { status: 409, canRetry: true },
  pending_selection_conflict: { status: 409, canRetry: true },
  already_consumed: { status: 409, canRetry: false },
  idempotency_conflict: { status: 409, canRetry: false },
  illegal_transition: { status: 409, canRetry: false },
  fence_lost: { status: 409, canRetry: false },
  cursor_expired: { status: 410, canRetry: false },
  commit_unknown: { status: 503, canRetry: false },
  storage_io: { status: 503, canRetry: true },
  storage_corrupt: { status: 500, canRetry: false },
  storage_too_new: { status: 500, canRetry: false },
  data_integrity: { status: 500, canRetry: false },
  // requests over HTTP
  unauthorized: { status: 401, canRetry: false },
  /** A page that the server was not told of asks for a change. */
  origin_not_allowed: { status: 403, canRetry: false },
  route_not_found: { status: 404, canRetry: false },
  method_not_allowed: { status: 405, canRetry: false },
  request_timeout: { status: 408, canRetry: true },
  payload_too_large: { status: 413, canRetry: false },
  headers_too_large: { status: 431, canRetry: false },
  /** Something that is no request of HTTP. */
  invalid_request: { status: 400, canRetry: false },
  unsupported_media_type: { status: 415, canRetry: false },
  /** A body that is no JSON, or not UTF-8, or nested too deeply. */
  invalid_json: { status: 400, canRetry: false },
  /** A body that is JSON, and not what the route takes. */
  invalid_body: { status: 422, canRetry: false },
  invalid_query: { status: 400, canRetry: false },
  invalid_cursor: { status: 400, canRetry: false },
  /** No `If-Match`, or one that is no revision. */
  invalid_revision: { status: 400, canRetry: false },
  /** A part of the server that it was not given. */
  not_installed: { status: 503, canRetry: false },
  server_busy: { status: 503, canRetry: true },
  shutting_down: { status: 503, canRetry: true },
  /** What a client says when nobody answers, or somebody who is no server of ours: what was asked may have happened, or not. */
  server_unreachable: { status: 502, canRetry: false },
  /** A file of the program that was needed is gone, replaced by another version, or could not be opened. */
  part_not_loaded: { status: 503, canRetry: false },
  // everything else
  internal: { status: 500, canRetry: false },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** The codes of which the table says so. */
export type RetryableCode = { [C in ErrorCode]: (typeof ERROR_TABLE)[C]["canRetry"] extends true ? C : never }[ErrorCode];

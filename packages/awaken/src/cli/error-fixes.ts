import type { ErrorCode } from "@awaken/contract";

/** What can be done about an error, or why there is no line about it. */
export type Fix = string | { readonly noneBecause: string };

const SAID: Fix = { noneBecause: "its message says what is wrong and where, and that is what to change" };
const PROJECT: Fix = { noneBecause: "a mistake in the code of the project, which its message names" };
const ELSEWHERE: Fix = { noneBecause: "what failed is another agent, and its own words are in the message" };
const MODEL: Fix = { noneBecause: "it is the end of a run, which `explainFailure` explains" };
const RACE: Fix = { noneBecause: "somebody else was faster; those who write try again by themselves, and the message says what was lost" };
const SERVER: Fix = { noneBecause: "a server says it of a request, in the message" };
const WANTED: Fix = { noneBecause: "somebody asked for it" };
const AGAIN: Fix = { noneBecause: "it may pass, and its message says what took too long" };
const BY_STORE: Fix = { noneBecause: "what to look at depends on the store: see `storageFix`" };
const OURS: Fix = { noneBecause: "a mistake of ours: the stack of --debug is what to look at" };

/** The closed table of what the terminal says besides the message: a new code does not compile without its line. */
export const ERROR_FIXES: Readonly<Record<ErrorCode, Fix>> = {
  // state
  revision_conflict: PROJECT,
  mutation_base_revision_mismatch: PROJECT,
  plugin_already_installed: PROJECT,
  key_already_registered: PROJECT,
  unknown_key: PROJECT,
  key_decode: PROJECT,
  key_encode: PROJECT,
  reducer_failed: PROJECT,
  parallel_merge_conflict: PROJECT,
  // phases and plugins
  handler_already_registered: PROJECT,
  effect_handler_already_registered: PROJECT,
  profile_key_already_registered: PROJECT,
  profile_key_not_registered: PROJECT,
  unknown_scheduled_action_handler: PROJECT,
  unknown_effect_handler: PROJECT,
  phase_run_loop_exceeded: PROJECT,
  hook_failed: PROJECT,
  invalid_plugin: PROJECT,
  invalid_plugin_config: PROJECT,
  // tools
  tool_already_registered: PROJECT,
  tool_id_conflict: PROJECT,
  invalid_tool: PROJECT,
  // input
  invalid_id: SAID,
  invalid_spec: SAID,
  invalid_schema: SAID,
  invalid_pattern: SAID,
  invalid_activation: SAID,
  invalid_resume: SAID,
  capability_mismatch: SAID,
  // registries and resolution
  agent_not_found: "the config has no agent of that name any more; `awaken doctor` lists those that it has",
  model_not_found: SAID,
  plugin_not_found: SAID,
  resolve_failed: PROJECT,
  registry_conflict: PROJECT,
  registry_validation_failed: SAID,
  registry_build_failed: SAID,
  config_validation_failed: SAID,
  unsupported_platform: PROJECT,
  invalid_definition: PROJECT,
  provider_already_exists: SAID,
  provider_not_found: SAID,
  provider_in_use: SAID,
  unsupported_persistence: SAID,
  // other agents
  backend_failed: ELSEWHERE,
  remote_failed: ELSEWHERE,
  delegation_depth_exceeded: ELSEWHERE,
  child_not_completed: ELSEWHERE,
  task_refused: PROJECT,
  task_unreachable: PROJECT,
  // run control
  thread_already_running: "wait until the run of this thread is over, or cancel it: `awaken cancel <thread>`",
  run_not_found: "`awaken runs` lists them",
  thread_not_found: "`awaken threads` lists them",
  ticket_not_found: "`awaken runs --status waiting` lists the runs that wait, `awaken show <run>` their tickets",
  ticket_not_open: "it was decided already: `awaken show <run>` tells what came of it",
  ticket_not_editable: "approve it as it is, or deny it with a reason",
  ticket_expired: "nobody decided in time: `awaken resume <run>` goes on with the call denied",
  decision_conflict: SAID,
  ambiguous_id: "name the run as well, with --run",
  channel_closed: SAID,
  dead_letter: SAID,
  cancelled: WANTED,
  timeout: AGAIN,
  // inference
  inference_failed: MODEL,
  // a run that failed because its inference did: one for each type of inference failure
  inference_provider: MODEL,
  inference_rate_limited: MODEL,
  inference_overloaded: MODEL,
  inference_timeout: MODEL,
  inference_stream_interrupted: MODEL,
  inference_context_overflow: MODEL,
  inference_invalid_request: MODEL,
  inference_unauthorized: MODEL,
  inference_model_not_found: MODEL,
  inference_content_filtered: MODEL,
  inference_all_models_unavailable: MODEL,
  inference_pool_attempts_exhausted: MODEL,
  inference_cancelled: MODEL,
  output_invalid: MODEL,
  provider_unavailable: MODEL,
  // storage
  storage_validation: SAID,
  storage_not_found: SAID,
  storage_already_exists: SAID,
  version_conflict: RACE,
  message_version_conflict: RACE,
  pending_selection_conflict: RACE,
  already_consumed: RACE,
  idempotency_conflict: RACE,
  illegal_transition: RACE,
  fence_lost: RACE,
  cursor_expired: "--after takes a cursor that the command events gave for the same thread or run",
  commit_unknown: RACE,
  storage_io: BY_STORE,
  storage_corrupt: "check that --store names a database of awaken; a damaged one has to come back from a backup",
  storage_too_new: "a newer awaken wrote this database: `npm install awaken@latest`, or name another one with --store",
  data_integrity: SAID,
  // requests over HTTP
  unauthorized: SERVER,
  origin_not_allowed: SERVER,
  route_not_found: SERVER,
  method_not_allowed: SERVER,
  request_timeout: SERVER,
  payload_too_large: SERVER,
  headers_too_large: SERVER,
  invalid_request: SERVER,
  unsupported_media_type: SERVER,
  invalid_json: SERVER,
  invalid_body: SERVER,
  invalid_query: SERVER,
  invalid_cursor: SERVER,
  invalid_revision: SERVER,
  not_installed: SERVER,
  server_busy: SERVER,
  shutting_down: SERVER,
  server_unreachable: SERVER,
  part_not_loaded: "start the process again: files of the program were replaced while it ran, or it had too many open",
  // everything else
  internal: OURS,
};

export { addAgentUsage } from "./agent-usage.ts";
export { asItIsNow } from "./as-it-is-now.ts";
export {
  type Artifact,
  BACKEND_DIMENSIONS,
  type Backend,
  type BackendAbort,
  type BackendDimension,
  type BackendOutput,
  type BackendProfile,
  type BackendRequest,
  type BackendResult,
  type BackendStatus,
  type DelegatePersistence,
  type RootRequest,
} from "./backend.ts";
export { durableStatus, statusLabel, statusOfTermination } from "./backend-status.ts";
export {
  type ClosedTicket,
  type CompactionOrder,
  type CompactionState,
  type ContextMessage,
  compactionOrderSchema,
  compactionStateSchema,
  contextMessageSchema,
  contextMessagesSchema,
  contextThrottleSchema,
  type Decided,
  type DecidedTicket,
  decidedSchema,
  excludeToolSchema,
  includeOnlyToolsSchema,
  type StopStats,
  stopStatsSchema,
  toolFilterSchema,
} from "./builtin-state.ts";
export { type Conclusion, conclude } from "./conclusion.ts";
export type {
  AssistantContent,
  Content,
  MediaContent,
  MediaSource,
  ProviderMetadata,
  ReasoningContent,
  TextContent,
  ToolCallContent,
  ToolContent,
  ToolResultContent,
  UserContent,
} from "./content.ts";
export { Door, type Late, partsThere } from "./door.ts";
export { AwakenError, type AwakenErrorInit, errorMessage } from "./error.ts";
export { ERROR_TABLE, type ErrorCode } from "./error-table.ts";
export { type AgentEvent, type ChildRun, type InputMode, isStoredEvent, type RunOutcome, type ToolCallProgress } from "./event.ts";
export { EVENT_TABLE, type EventStage, readEventOf } from "./event-table.ts";
export { ADAPTERS, type Adapter, ORIGINS, type Origin, RUN_MODES, type RunIdentity, type RunMode, type RunPlace } from "./identity.ts";
// Public: declarations of state keys name it.
export type { Id } from "./ids.ts";
export {
  DEFAULT_SCOPE,
  type DispatchId,
  decisionId,
  dispatchId,
  type EventId,
  eventId,
  type MessageId,
  messageId,
  type RunId,
  runId,
  type ScopeId,
  scopeId,
  type ThreadId,
  type TicketId,
  type ToolCallId,
  threadId,
  ticketId,
  toolCallId,
} from "./ids.ts";
export {
  INFERENCE_FAILURES,
  InferenceError,
  type InferenceFailure,
  type InferenceFailureType,
  type InferenceOptions,
  type InferenceOverride,
  type InferenceRequest,
  type Provider,
  type ReasoningEffort,
  type ResponseFacts,
  type RoutingKey,
  type StopReason,
  type StreamPart,
  type Turn,
} from "./inference.ts";
export {
  copyJson,
  freezeJson,
  freezeMade,
  isJson,
  isJsonObject,
  isPlainList,
  isPlainObject,
  type JsonObject,
  type JsonValue,
  toJson,
} from "./json.ts";
export {
  canToolCallMove,
  isToolCallOver,
  // Public: whoever shows calls has a word for each.
  TOOL_CALL_STATUSES,
  type ToolCallStatus,
} from "./lifecycle.ts";
export {
  type RunLifecycle,
  runLifecycleSchema,
  type ToolCallState,
  type ToolCallStates,
  toolCallStatesSchema,
} from "./lifecycle-schema.ts";
export { consoleLog, type Log } from "./log.ts";
export {
  type AssistantMessage,
  type CompactionMark,
  type EditedInput,
  type Message,
  messageText,
  messageToolCalls,
  type SystemMessage,
  type ToolMessage,
  type UserMessage,
} from "./message.ts";
export { didYouMean, nearestName } from "./nearest-name.ts";
export { checkOptions, needed, optionProblems, type PartRules, partRule, RULES, reading } from "./options.ts";
export { areOverCalls } from "./over-calls.ts";
export { perObject } from "./per-object.ts";
export { type HookPhase, PHASES } from "./phase.ts";
export { NOWHERE, Roster, type Seated } from "./roster.ts";
export {
  type CreatedRun,
  checkRunTransition,
  type DoneRun,
  RUN_SCHEMA_VERSION,
  type RunActivation,
  type RunInput,
  type RunIntent,
  type RunOptions,
  type RunProjection,
  type RunRecord,
} from "./run.ts";
export { runIdentity } from "./run-identity.ts";
export { openTicketsOf, ticketIdsOf } from "./run-tickets.ts";
export { type FailedAction, failedActionsSchema, type QueuedAction, queuedActionsSchema } from "./scheduled.ts";
export { describeType, shorten } from "./schema/issue.ts";
export { knownFields, type Schema, toJsonSchema, type Validated, validate, validateSync } from "./schema.ts";
export { Secret } from "./secret.ts";
export {
  type ArtifactLimits,
  activeAgentSchema,
  CONTEXT_TARGETS,
  type CompactionSection,
  compactionSectionSchema,
  contextTransformSectionSchema,
  inferenceOverrideSchema,
  inferenceOverrideStateSchema,
  knowledgeCutoffSectionSchema,
  outputRetriesSchema,
  pendingWorkSchema,
  retrySectionSchema,
} from "./sections.ts";
export { concludeRecord, isSettled, RUN_STANDINGS, type RunStanding, type SettledRun, standingOf } from "./standing.ts";
export { MERGE_RULES, type MergeRule, type PersistedState, STATE_SCHEMA_VERSION, STATE_SCOPES, type StateScope } from "./state.ts";
export {
  // Public: whoever shows runs has a word for each.
  CONCLUSIONS,
  // Public: whoever shows runs has a word for each.
  RUN_STATUSES,
  type RunStatus,
  // Public: whoever shows runs has a word for each.
  WAITING_REASONS,
  type WaitingReason,
} from "./statuses.ts";
export { jsonValueSchema } from "./stored-values.ts";
export { type Decision, type DecisionAction, RESUME_MODES, type Suspension, type Ticket } from "./suspension.ts";
export type { TaskEvent } from "./task.ts";
export {
  type BackgroundTaskState,
  backgroundTasksSchema,
  type FailedMessages,
  failedMessagesSchema,
  type MessageOutbox,
  messageOutboxSchema,
  type TaskParent,
  type TaskRecord,
  type TaskStatus,
} from "./task-state.ts";
export { canRunMove, errorTermination, NATURAL_END, type Termination } from "./termination.ts";
export { terminationSchema } from "./termination-schema.ts";
export {
  type ToolCall,
  type ToolDescriptor,
  type ToolErrorCode,
  type ToolFailure,
  type ToolPending,
  type ToolResult,
  toolOutcome,
} from "./tool.ts";
export { type AgentUsage, addUsage, type ModelUsage, NO_USAGE, type Usage } from "./usage.ts";

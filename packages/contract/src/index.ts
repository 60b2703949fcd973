export {
  type ArtifactLimits,
  activeAgentSchema,
  CONTEXT_TARGETS,
  type CompactionOrder,
  type CompactionSection,
  type CompactionState,
  type ContextMessage,
  type ContextMessageInput,
  compactionOrderSchema,
  compactionSectionSchema,
  compactionStateSchema,
  contextMessageSchema,
  contextMessagesSchema,
  contextThrottleSchema,
  contextTransformSectionSchema,
  type Decided,
  decidedSchema,
  excludeToolSchema,
  includeOnlyToolsSchema,
  inferenceOverrideSchema,
  inferenceOverrideStateSchema,
  knowledgeCutoffSectionSchema,
  pendingWorkSchema,
  reasoningEffortSchema,
  type StopStats,
  stopStatsSchema,
  toolFilterSchema,
} from "./builtin-state.ts";
export type {
  AssistantContent,
  AudioContent,
  Content,
  DocumentContent,
  ImageContent,
  MediaContent,
  MediaSource,
  ProviderMetadata,
  ReasoningContent,
  TextContent,
  ToolCallContent,
  ToolContent,
  ToolResultContent,
  UserContent,
  VideoContent,
} from "./content.ts";
export { AwakenError, type AwakenErrorInit, ERROR_STATUS, type ErrorCode, errorMessage } from "./error.ts";
export { ADVISORY_EVENTS, type AgentEvent, type AgentEventType, type RunOutcome, type ToolCallProgress } from "./event.ts";
export { ADAPTERS, type Adapter, ORIGINS, type Origin, RUN_MODES, type RunIdentity, type RunMode } from "./identity.ts";
export {
  DEFAULT_SCOPE,
  type DecisionId,
  type DispatchId,
  decisionId,
  dispatchId,
  type EventId,
  eventId,
  type Id,
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
  type RoutingKey,
  type StopReason,
  type StreamObserver,
  type StreamPart,
  type Turn,
} from "./inference.ts";
export { isJson, isJsonObject, type JsonObject, type JsonValue, toJson } from "./json.ts";
export {
  canToolCallMove,
  isToolCallOver,
  type RunLifecycle,
  runLifecycleSchema,
  TOOL_CALL_STATUSES,
  type ToolCallState,
  type ToolCallStates,
  type ToolCallStatus,
  toolCallStateSchema,
  toolCallStatesSchema,
} from "./lifecycle.ts";
export { consoleLog, type Log } from "./log.ts";
export {
  type AssistantMessage,
  type CompactionMark,
  type Message,
  type MessageMetadata,
  messageText,
  messageToolCalls,
  type Role,
  type SystemMessage,
  type ToolMessage,
  type UserMessage,
} from "./message.ts";
export { type HookPhase, PHASES, type Phase } from "./phase.ts";
export {
  type CreatedRun,
  checkRunTransition,
  type DoneRun,
  type FinalTermination,
  type MessageRange,
  RUN_SCHEMA_VERSION,
  type RunActivation,
  type RunEnding,
  type RunInput,
  type RunIntent,
  type RunningRun,
  type RunProjection,
  type RunRecord,
  type RunTrace,
  type RunWaiting,
  runIdentity,
  type SeededDecision,
  type WaitingRun,
} from "./run.ts";
export {
  type FailedAction,
  failedActionSchema,
  failedActionsSchema,
  type QueuedAction,
  queuedActionSchema,
  queuedActionsSchema,
} from "./scheduled.ts";
export { type Schema, toJsonSchema, type Validated, validate, validateSync } from "./schema.ts";
export { Secret } from "./secret.ts";
export {
  type AgentSpec,
  type AgentSpecInput,
  agentSpecSchema,
  displayDescription,
  encodeAgentSpec,
  type LocalAgentSpec,
  type LocalAgentSpecInput,
  listLocalFields,
  localFields,
  parseAgentSpec,
  type RemoteAgentSpec,
  type RemoteAgentSpecInput,
  TOOL_EXECUTIONS,
  type ToolExecution,
} from "./spec/agent.ts";
export { COMPACTION_MODES, type CompactionMode, type ContextPolicy, contextPolicySchema } from "./spec/context-policy.ts";
export {
  type A2aServerSpec,
  type A2aServerSpecInput,
  a2aServerEndpoint,
  a2aServerSpecSchema,
  a2aServerTimeoutMs,
  parseA2aServerSpec,
  parseRemoteEndpoint,
  REMOTE_BACKENDS,
  type RemoteEndpoint,
  type RemoteEndpointInput,
  remoteEndpointSchema,
} from "./spec/endpoint.ts";
export {
  CONFIG_NAMESPACES,
  CONFIG_SCHEMA_VERSION,
  type ConfigMeta,
  type ConfigNamespace,
  type ConfigRecord,
  configMetaSchema,
  configRecordSchema,
  decodeConfigRecord,
  encodeConfigRecord,
  userRecord,
} from "./spec/envelope.ts";
export { type McpServerSpec, type McpServerSpecInput, mcpServerSpecSchema, parseMcpServerSpec } from "./spec/mcp-server.ts";
export {
  MODALITIES,
  type Modality,
  type ModelSpec,
  type ModelSpecInput,
  modelCostUsd,
  modelSpecSchema,
  parseModelSpec,
  parseModelSpecs,
} from "./spec/model.ts";
export {
  type AgentPatch,
  agentPatchSchema,
  applyAgentPatch,
  applyToolPatch,
  effectiveAgentSpec,
  emptyPatchSchema,
  parseAgentPatch,
  parseEmptyPatch,
  parseToolPatch,
  type ToolPatch,
  toolPatchSchema,
} from "./spec/patch.ts";
export { type PoolSpec, type PoolSpecInput, parsePoolSpec, poolSpecSchema } from "./spec/pool.ts";
export {
  CREDENTIALS_KINDS,
  decodeProviderSpec,
  MODEL_DISCOVERY_AUTHS,
  MODEL_DISCOVERY_SCHEMAS,
  type ProviderSpec,
  type ProviderSpecInput,
  parseProviderSpec,
  providerSpecSchema,
} from "./spec/provider.ts";
export { readSection, type SectionKey } from "./spec/section.ts";
export { compileContentPattern, type StopCondition, stopConditionSchema } from "./spec/stop-condition.ts";
export { catalogueFields, compileToolCatalogue, type ToolCatalogue, withAllowDefault } from "./spec/tool-catalogue.ts";
export { compileToolPattern, type ToolPattern, toolPatternProblem } from "./spec/tool-pattern.ts";
export { parseToolRecord, type ToolRecord, type ToolRecordInput, toolRecordSchema } from "./spec/tool-record.ts";
export { type MergeRule, type PersistedState, STATE_SCHEMA_VERSION, type StateScope } from "./state.ts";
export {
  type CommitResult,
  type CommitThread,
  checkCommit,
  type DispatchChange,
  MAX_COMMIT_ATTEMPTS,
  type MessageDelta,
  type PendingChange,
  type PendingConsumption,
  type ThreadCommit,
} from "./store/commit.ts";
export {
  type ConfigEntry,
  type ConfigGuard,
  type ConfigKey,
  type ConfigStore,
  checkConfigRevision,
  readConfigRow,
  stampConfigRecord,
  toConfigRow,
} from "./store/config-records.ts";
export {
  type AckedDispatch,
  type CancelledDispatch,
  type ClaimedDispatch,
  DEFAULT_MAX_ATTEMPTS,
  DEFAULT_PRIORITY,
  type DeadLetterDispatch,
  DISPATCH_SCHEMA_VERSION,
  DISPATCH_STATUSES,
  type DispatchEcho,
  type DispatchRecord,
  type DispatchResult,
  type DispatchStatus,
  dispatchRecord,
  type QueuedDispatch,
  type SupersededDispatch,
} from "./store/dispatch-record.ts";
export {
  ackDispatch,
  cancelDispatch,
  claimQueued,
  compareDispatches,
  deadLetterDispatch,
  expireDispatch,
  extendLease,
  isDispatchOver,
  isLeaseOver,
  type Lease,
  type NewDispatch,
  nackDispatch,
  queueDispatch,
  readClaim,
  recordResult,
  recordStart,
  releaseDispatch,
  supersedeDispatch,
} from "./store/dispatch-transitions.ts";
export type {
  ClaimRequest,
  DispatchQueue,
  DispatchStore,
  Fence,
  Interruption,
  RunHint,
  ScopedDispatch,
  ScopedHint,
  ScopedThread,
} from "./store/dispatches.ts";
export { effectiveMessages, foldedUpTo, GrowingView, type SequencedMessage } from "./store/effective-view.ts";
export {
  EVENT_SCHEMA_VERSION,
  EVENT_VISIBILITIES,
  type EventAppend,
  type EventCursor,
  type EventDraft,
  type EventScope,
  type EventStart,
  type EventStore,
  type EventTarget,
  type EventVisibility,
  eventCursor,
  eventDraft,
  isSameEvent,
  type StoredEvent,
  storedEvent,
} from "./store/events.ts";
export {
  claimEffect,
  type EffectOwner,
  effectKey,
  LEDGER_SCHEMA_VERSION,
  type LedgerClaim,
  type LedgerEntry,
  type LedgerOutcome,
  type LedgerStore,
  ledgerEntry,
  settleEffect,
} from "./store/ledger.ts";
export { messageSchema, toolResultSchema } from "./store/message-schema.ts";
export { isMediaList } from "./store/message-shape.ts";
export type { MessageFilter, MessageStore } from "./store/messages.ts";
export { clampLimit, DEFAULT_LIMIT, MAX_LIMIT, type Order, type Page } from "./store/page.ts";
export {
  BOUNDARIES,
  type Boundary,
  DEFAULT_DELIVERY,
  type DeliveryMode,
  type NewPending,
  PENDING_SCHEMA_VERSION,
  type PendingEdit,
  type PendingQueue,
  type PendingRecord,
  type PendingStore,
  pendingRecord,
  selectPending,
} from "./store/pending.ts";
export {
  type AppendPlace,
  checkPendingRevision,
  editPending,
  queueRevision,
  renumberPending,
  reorderPending,
  toPendingRecords,
  toQueue,
} from "./store/pending-queue.ts";
export {
  PROFILE_SCHEMA_VERSION,
  type ProfileOwner,
  type ProfileRecord,
  type ProfileStore,
  profileOwner,
  profileRecord,
} from "./store/profiles.ts";
export { defineRecord, type RecordKind, type RecordKindInit, sameJson } from "./store/record.ts";
export { runProjection, runRecord } from "./store/run-schema.ts";
export type { RunFilter, RunPosition, RunStore } from "./store/runs.ts";
export {
  DEFAULT_RETENTION,
  type Retention,
  type ScopedStore,
  type Store,
  type StorePorts,
  type StoreStats,
  type SweepResult,
} from "./store/store.ts";
export {
  DEFAULT_CHECKPOINT_AGE_MS,
  isCheckpointUsable,
  STREAM_CHECKPOINT_SCHEMA_VERSION,
  type StreamCheckpoint,
  type StreamCheckpointStore,
  streamCheckpoint,
} from "./store/stream-checkpoints.ts";
export {
  CHILD_STRATEGIES,
  type ChildStrategy,
  type ThreadCheckpoint,
  type ThreadFilter,
  type ThreadPosition,
  type ThreadStore,
} from "./store/threads.ts";
export {
  decisionIdSchema,
  decisionSchema,
  jsonObjectSchema,
  jsonValueSchema,
  resumeModeSchema,
  runIdSchema,
  runStatusSchema,
  terminationSchema,
  threadIdSchema,
  ticketIdSchema,
  toolCallIdSchema,
  waitingReasonSchema,
} from "./stored.ts";
export { type Decision, type DecisionAction, RESUME_MODES, type ResumeMode, type Suspension, type Ticket } from "./suspension.ts";
export {
  canRunMove,
  errorTermination,
  RUN_STATUSES,
  type RunStatus,
  TERMINATION_TYPES,
  type Termination,
  WAITING_REASONS,
  type WaitingReason,
} from "./termination.ts";
export {
  checkLineage,
  checkMessageDelta,
  type LatestRun,
  MESSAGE_SCHEMA_VERSION,
  type MessageRecord,
  messageRecord,
  type NewThread,
  patchThread,
  projectRun,
  THREAD_SCHEMA_VERSION,
  type ThreadMetadata,
  type ThreadPatch,
  type ThreadRecord,
  threadRecord,
  threadState,
  toThreadRecord,
} from "./thread.ts";
export {
  TOOL_ERROR_CODES,
  TOOL_OUTCOMES,
  type ToolCall,
  type ToolDescriptor,
  type ToolErrorCode,
  type ToolFailure,
  type ToolOutcome,
  type ToolPending,
  type ToolResult,
  type ToolSuccess,
  toolOutcome,
} from "./tool.ts";
export { addUsage, NO_USAGE, type Usage } from "./usage.ts";

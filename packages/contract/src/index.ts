export {
  type ArtifactLimits,
  activeAgentSchema,
  type ClosedTicket,
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
  type DecidedTicket,
  decidedSchema,
  excludeToolSchema,
  includeOnlyToolsSchema,
  inferenceOverrideSchema,
  inferenceOverrideStateSchema,
  knowledgeCutoffSectionSchema,
  outputRetriesSchema,
  pendingWorkSchema,
  reasoningEffortSchema,
  type StopStats,
  stopStatsSchema,
  toolFilterSchema,
} from "./builtin-state.ts";
export {
  CONCLUSIONS,
  type Conclusion,
  type ConclusionFacts,
  type ConclusionStatus,
  conclude,
  concludeRecord,
  isSettled,
  RUN_STANDINGS,
  type RunError,
  type RunStanding,
  type SettledRun,
  type StopLimit,
  standingOf,
} from "./conclusion.ts";
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
export {
  type AgentEvent,
  type AgentEventType,
  type ChildRun,
  INPUT_MODES,
  type InputMode,
  type RunOutcome,
  type ToolCallProgress,
} from "./event.ts";
export { EVENT_STAGES, EVENT_TABLE, type EventRow, type EventStage } from "./event-table.ts";
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
export { isJson, isJsonObject, isPlainList, isPlainObject, type JsonObject, type JsonValue, toJson } from "./json.ts";
export {
  canToolCallMove,
  isToolCallOver,
  type RunLifecycle,
  runLifecycleSchema,
  TOOL_CALL_STATUSES,
  type ToolCallState,
  type ToolCallStates,
  type ToolCallStatus,
  toolCallStatesSchema,
} from "./lifecycle.ts";
export { consoleLog, type Log } from "./log.ts";
export {
  type AssistantMessage,
  type CompactionMark,
  type EditedInput,
  type Message,
  type MessageMetadata,
  messageText,
  messageToolCalls,
  type Role,
  type SystemMessage,
  type ToolMessage,
  type ToolMessageMetadata,
  type UserMessage,
} from "./message.ts";
export { didYouMean, nearestName } from "./nearest-name.ts";
export { checkOptions, needed, optionProblems, type PartRule, type PartRules, partRule, RULES, reading } from "./options.ts";
export { type HookPhase, PHASES, type Phase } from "./phase.ts";
export {
  type CreatedRun,
  checkRunTransition,
  type DoneRun,
  type FinalTermination,
  type MessageRange,
  openTicketsOf,
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
  ticketIdsOf,
  type WaitingRun,
} from "./run.ts";
export { type FailedAction, failedActionsSchema, type QueuedAction, queuedActionsSchema } from "./scheduled.ts";
export { describeType, shorten } from "./schema/issue.ts";
export { knownFields, type Schema, toJsonSchema, type Validated, validate, validateSync } from "./schema.ts";
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
export { compileToolCatalogue, type ToolCatalogue, withAllowDefault } from "./spec/tool-catalogue.ts";
export { compileToolPattern, type ToolPattern, toolPatternProblem } from "./spec/tool-pattern.ts";
export { parseToolRecord, type ToolRecord, type ToolRecordInput, toolRecordSchema } from "./spec/tool-record.ts";
export { MERGE_RULES, type MergeRule, type PersistedState, STATE_SCHEMA_VERSION, STATE_SCOPES, type StateScope } from "./state.ts";
export {
  type CommitResult,
  type CommitThread,
  checkCommit,
  type DispatchChange,
  followUp,
  type Leftovers,
  MAX_COMMIT_ATTEMPTS,
  type MessageDelta,
  needsFence,
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
  LeaseRenewal,
  RunHint,
  ScopedDispatch,
  ScopedHint,
  ScopedThread,
} from "./store/dispatches.ts";
export { effectiveMessages, foldedUpTo, GrowingView, type SequencedMessage, showEdit } from "./store/effective-view.ts";
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
export { isMediaList, messageSchema } from "./store/message-schema.ts";
export type { MessageFilter, MessageStore } from "./store/messages.ts";
export { type Outbound, touchedThreads } from "./store/outbound.ts";
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
export { runRecord } from "./store/run-schema.ts";
export type { RunFilter, RunPosition, RunStore } from "./store/runs.ts";
export {
  DEFAULT_RETENTION,
  hasQueue,
  type QueuePorts,
  type QueueStore,
  type QueueStoreStats,
  type Retention,
  type ScopedQueueStore,
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
  type AppendedWish,
  type NewWish,
  planWish,
  resumeKey,
  WISH_SCHEMA_VERSION,
  type WishReads,
  type WishRecord,
  type WishStore,
  wishIdOf,
  wishRecord,
} from "./store/wishes.ts";
export { jsonValueSchema, terminationSchema } from "./stored.ts";
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
export { addUsage, type ModelUsage, NO_USAGE, type Usage } from "./usage.ts";

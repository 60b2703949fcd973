export { stopPolicy } from "./builtin/stop-policy/stop-policy.ts";
export { createRuntime, type Runtime, type RuntimeInit } from "./create-runtime.ts";
export type { Capabilities } from "./inference/capabilities.ts";
export { PoolCache } from "./inference/pool/pool-cache.ts";
export { type Action, defineAction } from "./phase/action.ts";
export { failedActions, pendingActions } from "./phase/action-queue.ts";
export { Command, command, type EmittedEffect, extendCommand, type ScheduledAction } from "./phase/command.ts";
export { defineEffect, type Effect } from "./phase/effect.ts";
export { DEFAULT_MAX_ROUNDS, PhaseEngine, type PhaseEngineInit, type PhaseOutcome } from "./phase/engine.ts";
export type {
  ActionEntry,
  ActionHandler,
  CallFacts,
  EffectEntry,
  EffectHandler,
  Hook,
  HookEntry,
  HookInput,
  HookScene,
  PhaseFacts,
  PhaseTable,
  ResumedCall,
  RunScene,
} from "./phase/hook.ts";
export { compileEnv, type EnvInit } from "./plugin/compile-env.ts";
export { definePlugin, type LiveRun, type Plugin, type PluginInit } from "./plugin/define-plugin.ts";
export type { Env } from "./plugin/env.ts";
export type { CompactionNotice, InboxItem, TaskEvent } from "./plugin/inbox.ts";
export type { ClosePlugin, HostModel, PluginHost } from "./plugin/plugin-host.ts";
export type { Registrar, Transform } from "./plugin/registrar.ts";
export type { ToolSource } from "./plugin/tool-source.ts";
export { addContextMessage, excludeTool, includeOnlyTools, setInferenceOverride } from "./prompt/actions.ts";
export { createRegistrySet, type RegistryInit, type SpecList } from "./registry/create-registry-set.ts";
export { type Diagnostic, diagnoseRegistry, validateRegistry } from "./registry/diagnostics.ts";
export type { RegistryDraft } from "./registry/draft.ts";
export type { ProviderInput } from "./registry/provider-entry.ts";
export { type RegistryRebuild, rebuildAgentModelProvider } from "./registry/rebuild.ts";
export { RegistryHandle } from "./registry/registry-handle.ts";
export type { RegistrySet } from "./registry/registry-set.ts";
export type { RegistrySnapshot } from "./registry/registry-snapshot.ts";
export {
  type ProviderRemovalImpact,
  type ProviderRemovalPolicy,
  type ProviderRemovalPreview,
  previewProviderRemoval,
} from "./registry/remove-provider.ts";
export { createResolver, type Resolver, type ResolverInit } from "./resolve/resolver.ts";
export type { DecisionInput, TicketDecision } from "./run/decision-input.ts";
export type { Finding } from "./run/reconcile.ts";
export type { MessageInput, RunRequest, RunTraceInput } from "./run/run-request.ts";
export type {
  BlockedResult,
  CancelledResult,
  DoneResult,
  FailedResult,
  RunFacts,
  RunResult,
  RunTicket,
  StoppedResult,
  WaitingResult,
} from "./run/run-result.ts";
export { RunStream } from "./run/run-stream.ts";
export { activeAgent } from "./state/active-agent.ts";
export { type Batch, commonBase, touchedKeys, type Update } from "./state/batch.ts";
export {
  type AnyStateKey,
  defineRuntimeState,
  defineState,
  type Migration,
  type OnInvalid,
  type StateInit,
  type StateKey,
} from "./state/key.ts";
export { conflictingKey, extendBatch, mergeBatches, type RuleOf } from "./state/merge.ts";
export { pendingWork } from "./state/pending-work.ts";
export { decodeState, encodeState, type UnknownKeys } from "./state/persist.ts";
export {
  type AnyProfileKey,
  createProfileAccess,
  defineProfile,
  type ProfileAccess,
  type ProfileAccessInit,
  type ProfileKey,
  sharedScope,
} from "./state/profile.ts";
export { type RunLifecycleUpdate, runLifecycle, terminationOf } from "./state/run-lifecycle.ts";
export { type SlotTable, Snapshot, type StateReader } from "./state/snapshot.ts";
export { type CommitListener, type CommitNotice, StateStore } from "./state/store.ts";
export { type ToolCallStatesUpdate, toolCallStates } from "./state/tool-call-states.ts";
export { childController, onAbort, type Raced, raceAbort } from "./stream/abort.ts";
export { Bounds, type BoundsInit, DEFAULT_LIMITS, type Limits, type OnAbort, type Work } from "./stream/bounds.ts";
export { type Clock, sleep, systemClock } from "./stream/clock.ts";
export { EventStream } from "./stream/event-stream.ts";
export { type Ids, uuidIds } from "./stream/ids.ts";
export { Queue } from "./stream/queue.ts";
export { defineTool, type ToolInit } from "./tool/define-tool.ts";
export { type ForeignTool, fromAiSdkTool, type ToolList } from "./tool/foreign-tool.ts";
export { type Gate, type GateEntry, type GateInput, type Policy, type PolicyInput, policyGate, resolveGates } from "./tool/gate.ts";
export { fail, Reply, type ReplyExtras, reply, wait } from "./tool/reply.ts";
export type { PreparedCall, ProgressReport, Reconciled, Tool, ToolContext, ToolReply, ToolTraits } from "./tool/tool.ts";
export { guessToolKind, type ToolKind } from "./tool/tool-kind.ts";
export { allow, answer, ask, block, type Intercept, suspend, type Verdict } from "./tool/verdict.ts";

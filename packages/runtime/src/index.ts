export type { BackendFactory } from "./backend/backend-factory.ts";
export { A2A_PROFILE, STATELESS_REMOTE_PROFILE } from "./backend/profile.ts";
export { backgroundTasks } from "./builtin/background/background-tasks.ts";
export { stopPolicy } from "./builtin/stop-policy/stop-policy.ts";
export { createRuntime, type Runtime, type RuntimeInit } from "./create-runtime.ts";
export type { Capabilities } from "./inference/capabilities.ts";
export { PoolCache } from "./inference/pool/pool-cache.ts";
export type { DeadLetter } from "./mailbox/dead-letters.ts";
export type { NodeIdentity } from "./mailbox/node.ts";
export type { SendOptions, Sent } from "./mailbox/send.ts";
export type { Started, StartRequest } from "./mailbox/submit.ts";
export type { DispatchFacts, OperationFacts, QueueWatcher, RunEndFacts } from "./mailbox/watchers.ts";
export { createRuntimeOnStore } from "./open-runtime.ts";
export { type Action, defineAction } from "./phase/action.ts";
export { Command, command } from "./phase/command.ts";
export { defineEffect, type Effect } from "./phase/effect.ts";
export type { HookInput } from "./phase/hook.ts";
export type { AroundFacts, BeginWork } from "./plugin/around.ts";
export { definePlugin, type LiveRun, type Plugin } from "./plugin/define-plugin.ts";
export type { HostModel, PluginHost } from "./plugin/plugin-host.ts";
export type { ToolSource } from "./plugin/tool-source.ts";
export { addContextMessage, excludeTool, includeOnlyTools, setInferenceOverride } from "./prompt/actions.ts";
export { createRegistrySet } from "./registry/create-registry-set.ts";
export { diagnoseRegistry } from "./registry/diagnostics.ts";
export type { ProviderInput } from "./registry/provider-entry.ts";
export { type RegistryRebuild, rebuildAgentModelProvider } from "./registry/rebuild.ts";
export { RegistryHandle } from "./registry/registry-handle.ts";
export type { RegistryDraft, RegistrySet } from "./registry/registry-set.ts";
export type { RegistrySnapshot } from "./registry/registry-snapshot.ts";
export type { RemoteAgentSource } from "./registry/remote-agents.ts";
export {
  type ProviderRemovalImpact,
  type ProviderRemovalPolicy,
  type ProviderRemovalPreview,
  previewProviderRemoval,
} from "./registry/remove-provider.ts";
export type { AttachedEvent, AttachedIterator, AttachOptions } from "./relay/attached-event.ts";
export { createResolver, type ResolverInit } from "./resolve/resolver.ts";
export type { DecisionInput, TicketDecision } from "./run/decision-input.ts";
// Public: verbs and options name it.
export type { Finding } from "./run/reconcile.ts";
export type { RewindOptions, Rewound } from "./run/rewind.ts";
export type { RunRequest } from "./run/run-request.ts";
export type { RunResult, RunTicket } from "./run/run-result.ts";
export { RunStream } from "./run/run-stream.ts";
export type { RuntimeStore, TenantStore } from "./run/runtime-store.ts";
export { ticketsBelow } from "./run/tickets-below.ts";
export type { ScopedRuntime } from "./runtime-verbs.ts";
export { activeAgent } from "./state/active-agent.ts";
export { defineProfile, sharedScope } from "./state/define-profile.ts";
export { type AnyStateKey, defineState, type StateKey } from "./state/key.ts";
export { runLifecycle } from "./state/run-lifecycle.ts";
export { onAbort } from "./stream/abort.ts";
export { type Clock, systemClock } from "./stream/clock.ts";
// Public: verbs and options name it.
export type { Ids } from "./stream/ids.ts";
export { allow } from "./tool/allow.ts";
export { defineTool } from "./tool/define-tool.ts";
export type { Gate } from "./tool/gate.ts";
export { fail, reply, wait } from "./tool/reply.ts";
export type { ProgressReport, Tool, ToolContext } from "./tool/tool.ts";
export { answer, ask, block, deny, suspend, type Verdict } from "./tool/verdict.ts";

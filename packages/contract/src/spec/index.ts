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
} from "./agent.ts";
export { COMPACTION_MODES, type CompactionMode, type ContextPolicy, contextPolicySchema } from "./context-policy.ts";
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
} from "./endpoint.ts";
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
} from "./envelope.ts";
export { type McpServerSpec, type McpServerSpecInput, mcpServerSpecSchema, parseMcpServerSpec } from "./mcp-server.ts";
export {
  MODALITIES,
  type Modality,
  type ModelSpec,
  type ModelSpecInput,
  modelCostUsd,
  modelSpecSchema,
  parseModelSpec,
  parseModelSpecs,
} from "./model.ts";
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
} from "./patch.ts";
export { type PoolSpec, type PoolSpecInput, parsePoolSpec, poolSpecSchema } from "./pool.ts";
export {
  CREDENTIALS_KINDS,
  decodeProviderSpec,
  MODEL_DISCOVERY_AUTHS,
  MODEL_DISCOVERY_SCHEMAS,
  type ProviderSpec,
  type ProviderSpecInput,
  parseProviderSpec,
  providerSpecSchema,
} from "./provider.ts";
export { readSection, type SectionKey } from "./section.ts";
export { compileContentPattern, type StopCondition, stopConditionSchema } from "./stop-condition.ts";
export { compileToolCatalogue, type ToolCatalogue, withAllowDefault } from "./tool-catalogue.ts";
export { compileToolPattern, type ToolPattern, toolPatternProblem } from "./tool-pattern.ts";
export { parseToolRecord, type ToolRecord, type ToolRecordInput, toolRecordSchema } from "./tool-record.ts";

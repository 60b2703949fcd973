// Public: forms and files are checked by it.
export {
  type AgentSpec,
  type AgentSpecInput,
  agentSpecSchema,
  displayDescription,
  type LocalAgentSpec,
  type LocalAgentSpecInput,
  parseAgentSpec,
  type RemoteAgentSpec,
  type RemoteAgentSpecInput,
} from "./agent.ts";
// Public: forms and files are checked by it.
export { type ContextPolicy, contextPolicySchema } from "./context-policy.ts";
export { a2aServerEndpoint, a2aServerTimeoutMs, parseA2aServerSpec, parseRemoteEndpoint, type RemoteEndpoint } from "./endpoint.ts";
export { userRecord } from "./envelope.ts";
export { type McpServerSpec, parseMcpServerSpec } from "./mcp-server.ts";
// Public: forms and files are checked by it.
export { MODALITIES, type Modality, type ModelSpec, type ModelSpecInput, modelCostUsd, modelSpecSchema, parseModelSpec } from "./model.ts";
// Public: forms and files are checked by it.
export { type PoolSpec, type PoolSpecInput, parsePoolSpec, poolSpecSchema } from "./pool.ts";
// Public: forms and files are checked by it.
export { type ProviderSpec, parseProviderSpec } from "./provider.ts";
// Public: forms and files are checked by it.
export { compileContentPattern, type StopCondition, stopConditionSchema } from "./stop-condition.ts";
export { compileToolCatalogue } from "./tool-catalogue.ts";
export { compileToolPattern } from "./tool-pattern.ts";

export { a2aServerEndpoint, a2aServerTimeoutMs, parseA2aServerSpec } from "./a2a-server.ts";
export {
  type AgentSpec,
  type AgentSpecInput,
  // Public: forms and files are checked by it.
  agentSpecSchema,
  displayDescription,
  type LocalAgentSpec,
  type LocalAgentSpecInput,
  parseAgentSpec,
  type RemoteAgentSpec,
  type RemoteAgentSpecInput,
} from "./agent.ts";
export {
  type ContextPolicy,
  // Public: forms and files are checked by it.
  contextPolicySchema,
} from "./context-policy.ts";
export { parseRemoteEndpoint, type RemoteEndpoint } from "./endpoint.ts";
export { userRecord } from "./envelope.ts";
export { type McpServerSpec, parseMcpServerSpec } from "./mcp-server.ts";
export {
  isRealDate,
  MODALITIES,
  type Modality,
  type ModelSpec,
  type ModelSpecInput,
  modelCostUsd,
  // Public: forms and files are checked by it.
  modelSpecSchema,
  parseModelSpec,
} from "./model.ts";
export {
  type PoolSpec,
  type PoolSpecInput,
  parsePoolSpec,
  // Public: forms and files are checked by it.
  poolSpecSchema,
} from "./pool.ts";
export {
  type ProviderSpec,
  // Public: forms and files are checked by it.
  parseProviderSpec,
} from "./provider.ts";
export {
  compileContentPattern,
  type StopCondition,
  // Public: forms and files are checked by it.
  stopConditionSchema,
} from "./stop-condition.ts";
export { compileToolCatalogue } from "./tool-catalogue.ts";
export { compileToolPattern } from "./tool-pattern.ts";

export {
  type AgentSpec,
  type AgentSpecInput,
  agentSpecSchema,
  displayDescription,
  type LocalAgentSpec,
  type LocalAgentSpecInput,
  parseAgentSpec,
} from "./agent.ts";
export { type ContextPolicy, contextPolicySchema } from "./context-policy.ts";
export { userRecord } from "./envelope.ts";
export { type McpServerSpec, parseMcpServerSpec } from "./mcp-server.ts";
export { MODALITIES, type Modality, type ModelSpec, type ModelSpecInput, modelCostUsd, modelSpecSchema, parseModelSpec } from "./model.ts";
export { type PoolSpec, type PoolSpecInput, parsePoolSpec, poolSpecSchema } from "./pool.ts";
export { type ProviderSpec, parseProviderSpec } from "./provider.ts";
export { compileContentPattern, type StopCondition, stopConditionSchema } from "./stop-condition.ts";
export { compileToolCatalogue } from "./tool-catalogue.ts";
export { compileToolPattern } from "./tool-pattern.ts";

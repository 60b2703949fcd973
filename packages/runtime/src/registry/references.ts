/** As in the names of managed configuration. */
export type DiagnosticNamespace = "agents" | "models" | "model-pools" | "providers" | "plugins" | "tools";

export type DiagnosticCode =
  | "agent_missing_model"
  | "model_missing_provider"
  | "model_pool_missing_model"
  | "agent_missing_plugin"
  | "agent_missing_tool"
  | "agent_missing_delegate"
  | "agent_missing_handoff"
  | "agent_hook_filter_plugin_not_loaded"
  | "tool_missing_schema";

const UNESCAPED_STAR = /(?<!\\)\*/;

/** What is told about a reference that leads nowhere. */
export interface Reference {
  readonly code: DiagnosticCode;
  readonly from: DiagnosticNamespace;
  readonly to: DiagnosticNamespace;
  message(id: string, missing: string): string;
  fix(missing: string): string;
}

export const MODEL_PROVIDER: Reference = {
  code: "model_missing_provider",
  from: "models",
  to: "providers",
  message: (model, provider) => `model '${model}' references missing provider '${provider}'`,
  fix: (provider) => `register provider '${provider}', or name another one in field 'provider'`,
};

export const POOL_MEMBER: Reference = {
  code: "model_pool_missing_model",
  from: "model-pools",
  to: "models",
  message: (pool, model) => `model pool '${pool}' references missing model '${model}'`,
  fix: (model) => `register model '${model}', or take it out of field 'members'`,
};

export const AGENT_MODEL: Reference = {
  code: "agent_missing_model",
  from: "agents",
  to: "models",
  message: (agent, model) => `agent '${agent}' references missing model '${model}'`,
  fix: (model) =>
    model === "" ? "name a model or pool in field 'model'" : `register a model or pool '${model}', or name another one in field 'model'`,
};

export const AGENT_PLUGIN: Reference = {
  code: "agent_missing_plugin",
  from: "agents",
  to: "plugins",
  message: (agent, plugin) => `agent '${agent}' uses missing plugin '${plugin}'`,
  fix: (plugin) => `register plugin '${plugin}', or take it out of field 'plugins'`,
};

export const AGENT_FILTER: Reference = {
  code: "agent_hook_filter_plugin_not_loaded",
  from: "agents",
  to: "plugins",
  message: (agent, plugin) => `agent '${agent}' active hook filter references unloaded plugin '${plugin}'`,
  fix: (plugin) => `add '${plugin}' to field 'plugins', or take it out of field 'activePlugins'`,
};

export const AGENT_DELEGATE: Reference = {
  code: "agent_missing_delegate",
  from: "agents",
  to: "agents",
  message: (agent, delegate) => `agent '${agent}' delegates to missing agent '${delegate}'`,
  fix: (delegate) => `register agent '${delegate}', or take it out of field 'delegates'`,
};

export const AGENT_HANDOFF: Reference = {
  code: "agent_missing_handoff",
  from: "agents",
  to: "agents",
  message: (agent, target) => `agent '${agent}' hands off to missing agent '${target}'`,
  fix: (target) => `register agent '${target}', or take it out of field 'handoffs'`,
};

export const AGENT_TOOL: Reference = {
  code: "agent_missing_tool",
  from: "agents",
  to: "tools",
  message: (agent, tool) => `agent '${agent}' uses missing tool '${tool}'`,
  fix: (tool) =>
    UNESCAPED_STAR.test(tool) ? `a pattern belongs in field 'toolPatterns'` : `register tool '${tool}', or take it out of field 'tools'`,
};

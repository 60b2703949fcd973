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

const one = (namespace: DiagnosticNamespace): string => namespace.slice(0, -1).replace("-", " ");

/** `special`: where there is more to say than that it can be registered, or taken out of the field. */
const reference = (
  code: DiagnosticCode,
  [from, says, to]: readonly [from: DiagnosticNamespace, says: string, to: DiagnosticNamespace],
  field: string,
  special: (missing: string) => string | undefined = () => undefined,
): Reference => ({
  code,
  from,
  to,
  message: (id, missing) => `${one(from)} '${id}' ${says} ${one(to)} '${missing}'`,
  fix: (missing) => special(missing) ?? `register ${one(to)} '${missing}', or take it out of field '${field}'`,
});

export const MODEL_PROVIDER = reference(
  "model_missing_provider",
  ["models", "references missing", "providers"],
  "provider",
  (provider) => `register provider '${provider}', or name another one in field 'provider'`,
);

export const POOL_MEMBER = reference("model_pool_missing_model", ["model-pools", "references missing", "models"], "members");

export const AGENT_MODEL = reference("agent_missing_model", ["agents", "references missing", "models"], "model", (model) =>
  model === "" ? "name a model or pool in field 'model'" : `register a model or pool '${model}', or name another one in field 'model'`,
);

export const AGENT_PLUGIN = reference("agent_missing_plugin", ["agents", "uses missing", "plugins"], "plugins");

export const AGENT_FILTER = reference(
  "agent_hook_filter_plugin_not_loaded",
  ["agents", "active hook filter references unloaded", "plugins"],
  "activePlugins",
  (plugin) => `add '${plugin}' to field 'plugins', or take it out of field 'activePlugins'`,
);

export const AGENT_DELEGATE = reference("agent_missing_delegate", ["agents", "delegates to missing", "agents"], "delegates");

export const AGENT_HANDOFF = reference("agent_missing_handoff", ["agents", "hands off to missing", "agents"], "handoffs");

export const AGENT_TOOL = reference("agent_missing_tool", ["agents", "uses missing", "tools"], "tools", (tool) =>
  UNESCAPED_STAR.test(tool) ? "a pattern belongs in field 'toolPatterns'" : undefined,
);

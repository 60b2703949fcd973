import { type AgentSpec, AwakenError } from "@awaken/contract";
import type { Changes } from "./draft.ts";
import { findAgent, type RegistrySet, type TableName } from "./registry-set.ts";

/** As in the names of managed configuration. */
export type DiagnosticNamespace = "agents" | "models" | "model-pools" | "providers" | "plugins";

export type DiagnosticCode =
  | "agent_missing_model"
  | "model_missing_provider"
  | "model_pool_missing_model"
  | "agent_missing_plugin"
  | "agent_missing_delegate"
  | "agent_missing_handoff"
  | "agent_hook_filter_plugin_not_loaded";

/** One broken reference: where it is, what it needs, and what would mend it. */
export type Diagnostic = {
  readonly code: DiagnosticCode;
  readonly severity: "error";
  readonly resource: { readonly namespace: DiagnosticNamespace; readonly id: string };
  readonly dependsOn: { readonly namespace: DiagnosticNamespace; readonly id: string };
  readonly message: string;
  readonly fix: string;
};

/** What is told about a reference that leads nowhere. */
interface Reference {
  readonly code: DiagnosticCode;
  readonly from: DiagnosticNamespace;
  readonly to: DiagnosticNamespace;
  message(id: string, missing: string): string;
  fix(missing: string): string;
}

const MODEL_PROVIDER: Reference = {
  code: "model_missing_provider",
  from: "models",
  to: "providers",
  message: (model, provider) => `model '${model}' references missing provider '${provider}'`,
  fix: (provider) => `register provider '${provider}', or name another one in field 'provider'`,
};

const POOL_MEMBER: Reference = {
  code: "model_pool_missing_model",
  from: "model-pools",
  to: "models",
  message: (pool, model) => `model pool '${pool}' references missing model '${model}'`,
  fix: (model) => `register model '${model}', or take it out of field 'members'`,
};

const AGENT_MODEL: Reference = {
  code: "agent_missing_model",
  from: "agents",
  to: "models",
  message: (agent, model) => `agent '${agent}' references missing model '${model}'`,
  fix: (model) =>
    model === "" ? "name a model or pool in field 'model'" : `register a model or pool '${model}', or name another one in field 'model'`,
};

const AGENT_PLUGIN: Reference = {
  code: "agent_missing_plugin",
  from: "agents",
  to: "plugins",
  message: (agent, plugin) => `agent '${agent}' uses missing plugin '${plugin}'`,
  fix: (plugin) => `register plugin '${plugin}', or take it out of field 'plugins'`,
};

const AGENT_FILTER: Reference = {
  code: "agent_hook_filter_plugin_not_loaded",
  from: "agents",
  to: "plugins",
  message: (agent, plugin) => `agent '${agent}' active hook filter references unloaded plugin '${plugin}'`,
  fix: (plugin) => `add '${plugin}' to field 'plugins', or take it out of field 'activePlugins'`,
};

const AGENT_DELEGATE: Reference = {
  code: "agent_missing_delegate",
  from: "agents",
  to: "agents",
  message: (agent, delegate) => `agent '${agent}' delegates to missing agent '${delegate}'`,
  fix: (delegate) => `register agent '${delegate}', or take it out of field 'delegates'`,
};

const AGENT_HANDOFF: Reference = {
  code: "agent_missing_handoff",
  from: "agents",
  to: "agents",
  message: (agent, target) => `agent '${agent}' hands off to missing agent '${target}'`,
  fix: (target) => `register agent '${target}', or take it out of field 'handoffs'`,
};

/** Where diagnostics are gathered: nothing is made for what is in order. */
class Findings {
  readonly found: Diagnostic[] = [];

  /** One diagnostic for each target that is not there. */
  check(ref: Reference, id: string, targets: readonly string[], exists: (target: string) => boolean): void {
    for (const [index, target] of targets.entries()) {
      if (exists(target) || targets.indexOf(target) < index) continue;
      this.found.push({
        code: ref.code,
        severity: "error",
        resource: { namespace: ref.from, id },
        dependsOn: { namespace: ref.to, id: target },
        message: ref.message(id, target),
        fix: ref.fix(target),
      });
    }
  }
}

/** A remote agent needs nothing of ours. */
function checkAgent(findings: Findings, set: RegistrySet, agent: AgentSpec): void {
  if (agent.type === "remote") return;
  const { id, model, plugins, activePlugins, delegates, handoffs } = agent;
  const isAgent = (target: string) => findAgent(set, target) !== undefined;
  findings.check(AGENT_MODEL, id, [model], (name) => set.models.has(name) || set.pools.has(name));
  findings.check(AGENT_PLUGIN, id, plugins, (plugin) => set.plugins.has(plugin));
  findings.check(AGENT_FILTER, id, activePlugins, (plugin) => plugins.includes(plugin));
  findings.check(AGENT_DELEGATE, id, delegates, isAgent);
  findings.check(AGENT_HANDOFF, id, handoffs, isAgent);
}

/** Which entries of a table to look at. */
type Choice = <T>(name: TableName, table: ReadonlyMap<string, T>) => Iterable<T>;

function diagnose(set: RegistrySet, pick: Choice): readonly Diagnostic[] {
  const findings = new Findings();
  for (const { id, provider } of pick("models", set.models)) {
    findings.check(MODEL_PROVIDER, id, [provider], (name) => set.providers.has(name));
  }
  for (const { id, members } of pick("pools", set.pools)) {
    const models = members.map(({ model }) => model);
    findings.check(POOL_MEMBER, id, models, (model) => set.models.has(model));
  }
  for (const agent of pick("agents", set.agents)) checkAgent(findings, set, agent);
  return findings.found;
}

/** Every broken reference: models, then pools, then agents, each in the order of registration. */
export const diagnoseRegistry = (set: RegistrySet): readonly Diagnostic[] => diagnose(set, (_name, table) => table.values());

/** Sets that are known to be whole. */
const valid = new WeakSet<RegistrySet>();

function settle(set: RegistrySet, diagnostics: readonly Diagnostic[]): void {
  if (diagnostics.length === 0) {
    valid.add(set);
    return;
  }
  const messages = diagnostics.map(({ message }) => message);
  throw new AwakenError("registry_validation_failed", `registry validation failed: ${messages.join("; ")}`, { details: { diagnostics } });
}

/** Throws `registry_validation_failed` with all diagnostics in its details. */
export function validateRegistry(set: RegistrySet): void {
  if (!valid.has(set)) settle(set, diagnoseRegistry(set));
}

/** As `validateRegistry`, for a set that was made from another by these changes: what cannot have broken is not looked at again. */
export function validateEdit(base: RegistrySet, next: RegistrySet, changes: Changes): void {
  const hasRemoved = Object.values(changes).some((table) => [...table.values()].some(({ type }) => type === "remove"));
  if (hasRemoved || !valid.has(base)) {
    validateRegistry(next);
    return;
  }
  const changed = <T>(name: TableName, table: ReadonlyMap<string, T>): T[] =>
    [...changes[name].keys()].map((id) => table.get(id)).filter((entry) => entry !== undefined);
  settle(next, diagnose(next, changed));
}

import { AwakenError, didYouMean, errorMessage } from "@awaken/contract";
import type { AgentSpec, LocalAgentSpec } from "@awaken/contract/spec";
import type { Tool } from "../tool/tool.ts";
import { delegateToolId, HANDOFF_TOOL, NAMED_TOOLS } from "./agent-tool-ids.ts";
import type { Changes } from "./draft.ts";
import { isLate } from "./late-ids.ts";
import { type BroughtTools, pluginTools } from "./plugin-tools.ts";
import {
  AGENT_DELEGATE,
  AGENT_FILTER,
  AGENT_HANDOFF,
  AGENT_MODEL,
  AGENT_PLUGIN,
  AGENT_TOOL,
  type DiagnosticCode,
  type DiagnosticNamespace,
  MODEL_PROVIDER,
  POOL_MEMBER,
  type Reference,
} from "./references.ts";
import { findAgent, type RegistrySet, type TableName } from "./registry-set.ts";

/** One mistake: where it is, what it needs, and what would mend it. */
export type Diagnostic = {
  readonly code: DiagnosticCode;
  readonly severity: "error";
  readonly resource: { readonly namespace: DiagnosticNamespace; readonly id: string };
  /** What is missing; absent when nothing else is. */
  readonly dependsOn?: { readonly namespace: DiagnosticNamespace; readonly id: string };
  readonly message: string;
  readonly fix: string;
};

/** A table, or several, in which a reference may lead somewhere. */
interface Targets {
  has(id: string): boolean;
  /** For the nearest name. */
  ids(): Iterable<string>;
}

/** So many wrong names get the one that was probably meant; nobody reads on after that, and each asks all names. */
const MAX_GUESSES = 50;

const NOTHING_UNREAD: ReadonlySet<string> = new Set();

/** Where diagnostics of a set are gathered: nothing is made for what is in order. `unread` is what it would hold if all that was given could be read. */
class Findings {
  readonly found: Diagnostic[] = [];
  readonly #set: RegistrySet;
  readonly #unread: ReadonlySet<string>;

  constructor(set: RegistrySet, unread: ReadonlySet<string>) {
    this.#set = set;
    this.#unread = unread;
  }

  /** One diagnostic for each target that is not there. */
  check(ref: Reference, id: string, targets: readonly string[], { has, ids }: Targets): void {
    for (const [index, target] of targets.entries()) {
      if (has(target) || targets.indexOf(target) < index) continue;
      this.found.push({
        code: ref.code,
        severity: "error",
        resource: { namespace: ref.from, id },
        dependsOn: { namespace: ref.to, id: target },
        message: `${ref.message(id, target)}${this.found.length < MAX_GUESSES ? didYouMean(target, ids()) : ""}`,
        fix: ref.fix(target),
      });
    }
  }

  /** A model must be told what to give to a tool. */
  checkTool(tool: Tool): void {
    try {
      // Read for its failure alone; it is kept with the tool.
      void tool.descriptor;
    } catch (thrown) {
      this.found.push({
        code: "tool_missing_schema",
        severity: "error",
        resource: { namespace: "tools", id: tool.id },
        message: `tool '${tool.id}' has no JSON Schema: ${errorMessage(thrown)}`,
        fix: "take a schema library that gives JSON Schema, or write it in field 'parameters'",
      });
    }
  }

  /** A remote agent needs nothing of ours. */
  checkAgent(agent: AgentSpec): void {
    if (agent.type === "remote") return;
    const { id, plugins, tools } = agent;
    const agents = this.in("agents");
    const has = (other: string): boolean => agents.has(other) || findAgent(this.#set, other) !== undefined || isLate(other);
    this.check(AGENT_MODEL, id, [agent.model], this.in("models", "pools"));
    this.check(AGENT_PLUGIN, id, plugins, this.in("plugins"));
    this.check(AGENT_FILTER, id, agent.activePlugins, { has: (plugin) => plugins.includes(plugin), ids: () => plugins });
    if (tools) this.check(AGENT_TOOL, id, tools, this.#toolsOf(agent));
    this.check(AGENT_DELEGATE, id, agent.delegates, { ...agents, has });
    this.check(AGENT_HANDOFF, id, agent.handoffs, { ...agents, has });
  }

  in(...names: readonly TableName[]): Targets {
    return {
      has: (id) => names.some((name) => this.#set[name].has(id) || this.#unread.has(`${name}/${id}`)),
      ids: () => names.flatMap((name) => [...this.#set[name].keys()]),
    };
  }

  /** Also those that the agent's plugins bring, which only they know. A plugin that could not be read may bring any. */
  #toolsOf(agent: LocalAgentSpec): Targets {
    const { has, ids } = this.in("tools");
    const isUnsure = agent.plugins.some((plugin) => this.#unread.has(`plugins/${plugin}`));
    let brought: BroughtTools | undefined;
    const fromPlugins = (): BroughtTools => {
      brought ??= pluginTools(this.#set, agent);
      return brought;
    };
    const isDelegate = (id: string): boolean =>
      agent.delegates.some((delegate) => id === delegateToolId(delegate)) || (id === HANDOFF_TOOL && agent.handoffs.length > 0);
    return {
      has: (id) =>
        has(id) || isLate(id) || isUnsure || isDelegate(id) || NAMED_TOOLS.has(id) || fromPlugins().ids.has(id) || fromPlugins().isLate(id),
      ids: () => [...ids(), ...fromPlugins().ids],
    };
  }
}

/** Which entries of a table to look at. */
type Choice = <T>(name: TableName, table: ReadonlyMap<string, T>) => Iterable<T>;

function diagnose(set: RegistrySet, pick: Choice, unread = NOTHING_UNREAD): readonly Diagnostic[] {
  const findings = new Findings(set, unread);
  for (const { id, provider } of pick("models", set.models)) findings.check(MODEL_PROVIDER, id, [provider], findings.in("providers"));
  for (const { id, members } of pick("pools", set.pools)) {
    const models = members.map(({ model }) => model);
    findings.check(POOL_MEMBER, id, models, findings.in("models"));
  }
  for (const tool of pick("tools", set.tools)) findings.checkTool(tool);
  for (const agent of pick("agents", set.agents)) findings.checkAgent(agent);
  return findings.found;
}

/** Every mistake: models, then pools, tools and agents, each in the order of registration. `unread` is what was given and could not be read. */
export const diagnoseRegistry = (set: RegistrySet, unread?: ReadonlySet<string>): readonly Diagnostic[] =>
  diagnose(set, (_name, table) => table.values(), unread);

/** All of them as one error; undefined when there is none. */
export function validationError(diagnostics: readonly Diagnostic[]): AwakenError | undefined {
  if (diagnostics.length === 0) return undefined;
  const messages = diagnostics.map(({ message }) => message);
  return new AwakenError("registry_validation_failed", `registry validation failed: ${messages.join("; ")}`, { details: { diagnostics } });
}

function refuse(diagnostics: readonly Diagnostic[]): void {
  const error = validationError(diagnostics);
  if (error !== undefined) throw error;
}

/** Throws `registry_validation_failed` with all diagnostics in its details. */
export function validateRegistry(set: RegistrySet): void {
  refuse(diagnoseRegistry(set));
}

/** As `validateRegistry`, for a set that was made of a valid one by these changes: what cannot have broken is not looked at again. */
export function validateEdit(next: RegistrySet, changes: Changes): void {
  const hasRemoved = Object.values(changes).some((table) => [...table.values()].includes(undefined));
  if (hasRemoved) {
    validateRegistry(next);
    return;
  }
  const changed: Choice = (name, table) => {
    // Another plugin of the same name may no longer bring a tool that an agent names.
    if (name === "agents" && changes.plugins.size > 0) return table.values();
    return [...changes[name].keys()].map((id) => table.get(id)).filter((entry) => entry !== undefined);
  };
  refuse(diagnose(next, changed));
}

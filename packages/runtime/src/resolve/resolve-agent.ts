import { AwakenError, didYouMean, errorMessage, type Provider, shorten } from "@awaken/contract";
import type { AgentSpec, LocalAgentSpec } from "@awaken/contract/spec";
import { type InferencePolicy, RETRY_SECTION, readPolicy } from "../inference/policy.ts";
import type { PoolCache } from "../inference/pool/pool-cache.ts";
import { remoteRefusal } from "../loop/handoff.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import { toPlan } from "../loop/to-plan.ts";
import { compileEnv } from "../plugin/compile-env.ts";
import { definePlugin, type Plugin } from "../plugin/define-plugin.ts";
import { type ReadTools, readNow } from "../plugin/tool-source.ts";
import { isLate } from "../registry/late-ids.ts";
import { findAgent, type RegistrySet } from "../registry/registry-set.ts";
import type { AnyStateKey } from "../state/key.ts";
import type { Tool } from "../tool/tool.ts";
import { fitAgent } from "./fit-agent.ts";
import { addLateTools, filterTools, gatherTools } from "./select-tools.ts";
import { resolveModel } from "./serve-model.ts";

/** What the runtime's own plugins are made from. */
export interface RuntimePluginInput {
  /** As it will run: its context policy is already narrowed to the model. */
  readonly agent: LocalAgentSpec;
  readonly provider: Provider;
  /** The name that the provider knows the model by. */
  readonly model: string;
  readonly policy: InferencePolicy;
  /** Where the model's knowledge ends; undefined unless that is known for sure. */
  readonly knowledgeCutoff: string | undefined;
}

/** The tools that an agent has because it names other agents. */
export interface AgentTools {
  readonly delegates: readonly Tool[];
  readonly handoffs: readonly Tool[];
}

export interface ResolveParts {
  /** Tools that an agent has when its catalogue names them, and not else. Default: none. */
  readonly namedTools?: readonly Tool[];
  /** What agents have for those that they name as delegates and handoffs. Default: nothing. */
  readonly agentTools?: (named: { readonly delegates: readonly AgentSpec[]; readonly handoffs: readonly AgentSpec[] }) => AgentTools;
  /** The plugins that every run has, in order; no filter of an agent silences them. */
  readonly runtimePlugins: (input: RuntimePluginInput) => readonly Plugin[];
  /** Section keys that the runtime reads even for agents that do not load the plugin that claims them. */
  readonly knownSections?: readonly string[];
  readonly pools: PoolCache;
  /** Keys that every agent has, beside those of its plugins and tools. */
  readonly state?: readonly AnyStateKey[];
}

export interface Resolved {
  readonly plan: RunPlan;
  /** What its tools were taken from. */
  readonly registered: ReadonlyMap<string, Tool>;
  /** What is odd but no error. */
  readonly warnings: readonly string[];
}

function lookUpSpec(set: RegistrySet, id: string): AgentSpec {
  const agent = findAgent(set, id);
  if (agent !== undefined) return agent;
  const message = `agent not found: ${shorten(id)}${didYouMean(id, set.agents.keys())}`;
  throw new AwakenError("agent_not_found", message, { details: { agentId: id } });
}

function lookUpAgent(set: RegistrySet, id: string): LocalAgentSpec {
  const agent = lookUpSpec(set, id);
  if (agent.type === "local") return agent;
  throw remoteRefusal(id);
}

function lookUpPlugins(set: RegistrySet, ids: readonly string[]): Plugin[] {
  return ids.map((id) => {
    const plugin = set.plugins.get(id);
    if (plugin === undefined) throw new AwakenError("plugin_not_found", `plugin not found: ${id}`, { details: { pluginId: id } });
    return plugin;
  });
}

/** State keys that no plugin brings, under the name of who does. */
function keyOwners(state: readonly AnyStateKey[], tools: Iterable<Tool>): readonly Plugin[] {
  const owner = (id: string, keys: readonly AnyStateKey[]) =>
    definePlugin({
      id,
      register(r) {
        for (const key of keys) r.state(key);
      },
    });
  const owners = state.length === 0 ? [] : [owner("createRuntime", state)];
  for (const { id, state: keys = [] } of tools) if (keys.length > 0) owners.push(owner(`tool:${id}`, keys));
  return owners;
}

const NO_AGENTS: AgentTools = Object.freeze({ delegates: [], handoffs: [] });

/** Agents of sources that are read later may not be there yet: what they are for comes with them. */
function toolsForAgents(set: RegistrySet, { delegates, handoffs }: LocalAgentSpec, { agentTools }: ResolveParts): AgentTools {
  if (agentTools === undefined || delegates.length + handoffs.length === 0) return NO_AGENTS;
  const known = (ids: readonly string[]) =>
    [...new Set(ids)].flatMap((id) => (isLate(id) ? (findAgent(set, id) ?? []) : lookUpSpec(set, id)));
  return agentTools({ delegates: known(delegates), handoffs: known(handoffs) });
}

/** A tool that no model could be told about. Those of the registry were looked at when they were registered. */
function checkSchemas(tools: Iterable<Tool>): void {
  for (const tool of tools) {
    try {
      void tool.descriptor;
    } catch (cause) {
      throw new AwakenError("invalid_schema", `tool '${tool.id}' has no JSON Schema: ${errorMessage(cause)}`, { cause });
    }
  }
}

/** From an agent's id to how it runs: look-up, plugins, tools. The first mistake throws, and nothing is left behind. */
export function resolveAgent(set: RegistrySet, agentId: string, parts: ResolveParts, readTools: ReadTools = readNow): Resolved {
  const spec = lookUpAgent(set, agentId);
  const policy = Object.freeze(readPolicy(spec.sections[RETRY_SECTION], spec.maxContinuationRetries));
  const served = resolveModel(set, spec.model, parts.pools);
  const { provider, providerId, upstream, capabilities, specs } = served;
  const { maxOutputTokens, knowledgeCutoff } = capabilities.trusted;
  const agent = fitAgent(set, spec, served);

  const env = compileEnv({
    plugins: lookUpPlugins(set, agent.plugins),
    runtimePlugins: [
      ...parts.runtimePlugins({ agent, provider, model: upstream, policy, knowledgeCutoff }),
      ...keyOwners(parts.state ?? [], set.tools.values()),
    ],
    sections: agent.sections,
    knownSections: [RETRY_SECTION, ...(parts.knownSections ?? [])],
    filter: agent.activePlugins,
    readTools,
  });

  checkSchemas(env.tools.values());
  const forAgents = toolsForAgents(set, agent, parts);
  const declared = gatherTools([
    ["global", set.tools.values()],
    [
      "runtime",
      (parts.namedTools ?? []).filter(({ id }) => agent.tools?.includes(id) === true && !set.tools.has(id) && !env.tools.has(id)),
    ],
    ["delegate", forAgents.delegates],
    ["handoff", forAgents.handoffs],
    ["plugin", env.tools.values()],
  ]);
  const { tools: registered, warnings } = addLateTools(declared, env.lateTools);
  const named = new Set([...forAgents.delegates, ...forAgents.handoffs].map(({ id }) => id));
  const tools = filterTools(agent, registered, named);
  const { contextWindow } = capabilities.known;
  const model = Object.freeze({ upstream, provider: providerId, maxOutputTokens, contextWindow, specs });
  return {
    plan: toPlan({ agent, env, provider, model, tools, policy }),
    registered,
    warnings: [...env.warnings, ...warnings],
  };
}

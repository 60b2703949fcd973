import { reading } from "@awaken/contract";
import type { AgentSpecInput, LocalAgentSpecInput, ModelSpecInput } from "@awaken/contract/spec";
import { type AiSdkModel, isAiSdkSource } from "@awaken/providers";
import { type RuntimeInit as CoreInit, type Runtime as CoreRuntime, createRuntimeOnStore, type RuntimeStore } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { checkPlatform } from "./check-platform.ts";
import { Registry } from "./registry.ts";
import { withA2a } from "./remote-backends.ts";
import { thisNode } from "./this-node.ts";
import { type AnyProvider, toProviders } from "./to-provider.ts";

/** An agent whose model is the id of a model or pool, or an AI SDK model object. */
export type AgentInput = AgentSpecInput | AgentOfModel;
type AgentOfModel = Omit<LocalAgentSpecInput, "model"> & {
  /** A model object of the AI SDK: it becomes a provider and a model of the agent's own. */
  readonly model: AiSdkModel;
};

export interface RuntimeInit extends Omit<CoreInit, "providers" | "models" | "agents"> {
  /** Model APIs by id: AI SDK providers as they are, or objects of ours. */
  readonly providers?: { readonly [id: string]: AnyProvider };
  /** By the id that agents name; a model says which provider it is asked of. */
  readonly models?: { readonly [id: string]: ModelSpecInput };
  /** By id. One agent alone is the default; of several the one called `default` is. */
  readonly agents: { readonly [id: string]: AgentInput };
  /** Of all tenants. Default: in memory. */
  readonly store?: RuntimeStore;
}

export interface Runtime extends Omit<CoreRuntime, "registry"> {
  /** What agents, models, providers and tools there are now. Changes reach runs that start later. */
  readonly registry: Registry;
}

const isModelObject = (model: unknown): model is AiSdkModel => typeof model === "object" && model !== null && isAiSdkSource(model);

const hasModelObject = (agent: AgentInput): agent is AgentOfModel =>
  typeof agent === "object" && agent !== null && "model" in agent && isModelObject(agent.model);

const isTable = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);

/** A model object becomes a provider and a model of its own, named after its agent. What is no table is left for the core to refuse. */
function nameModels(init: RuntimeInit): CoreInit {
  const { providers = {}, models = {}, agents } = init;
  const backends = withA2a(init.backends);
  const ownProviders: Record<string, AnyProvider> = {};
  const ownModels: Record<string, ModelSpecInput> = {};
  const nameModel = (id: string, agent: AgentInput): AgentSpecInput => {
    if (!hasModelObject(agent)) return agent;
    const name = `${id}:model`;
    ownProviders[name] = agent.model;
    ownModels[name] = { provider: name, model: agent.model.modelId };
    return { ...agent, model: name };
  };
  const named = isTable(agents) ? Object.fromEntries(Object.entries(agents).map(([id, agent]) => [id, nameModel(id, agent)])) : agents;
  return {
    ...init,
    providers: isTable(providers) ? toProviders({ ...providers, ...ownProviders }) : providers,
    models: isTable(models) ? { ...models, ...ownModels } : models,
    agents: named,
    ...(backends === undefined ? undefined : { backends }),
  };
}

/** The runtime with its batteries: AI SDK providers and models as they are, and threads in memory unless a store is given. */
export function createRuntime(given: RuntimeInit): Runtime {
  checkPlatform();
  const init = reading("config_validation_failed", "the options of createRuntime", () => (isTable(given) ? nameModels(given) : given));
  const runtime = createRuntimeOnStore(
    isTable(init) ? { ...init, store: init.store ?? memoryStore(), node: init.node ?? thisNode() } : init,
  );
  return { ...runtime, registry: new Registry(runtime.registry) };
}

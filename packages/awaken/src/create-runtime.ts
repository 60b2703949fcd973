import type { AgentSpecInput, LocalAgentSpecInput, ModelSpecInput, ScopedStore } from "@awaken/contract";
import { type AiSdkModel, isAiSdkSource } from "@awaken/providers";
import { type RuntimeInit as CoreInit, type Runtime as CoreRuntime, createRuntime as createCoreRuntime } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { Registry } from "./registry.ts";
import { type AnyProvider, toProviders } from "./to-provider.ts";

/** An agent whose model is the id of a model or pool, or an AI SDK model object. */
export type AgentInput = AgentSpecInput | AgentOfModel;
type AgentOfModel = Omit<LocalAgentSpecInput, "model"> & { readonly model: AiSdkModel };

export interface RuntimeInit extends Omit<CoreInit, "providers" | "models" | "agents"> {
  readonly providers?: { readonly [id: string]: AnyProvider };
  readonly models?: { readonly [id: string]: ModelSpecInput };
  readonly agents: { readonly [id: string]: AgentInput };
  /** Default: in memory. */
  readonly store?: ScopedStore;
}

export interface Runtime extends Omit<CoreRuntime, "registry"> {
  readonly registry: Registry;
}

const isModelObject = (model: unknown): model is AiSdkModel => typeof model === "object" && model !== null && isAiSdkSource(model);

const hasModelObject = (agent: AgentInput): agent is AgentOfModel => "model" in agent && isModelObject(agent.model);

interface Specs {
  readonly providers: { readonly [id: string]: AnyProvider };
  readonly models: { readonly [id: string]: ModelSpecInput };
  readonly agents: { readonly [id: string]: AgentSpecInput };
}

/** A model object becomes a provider and a model of its own, named after its agent. */
function nameModels(init: RuntimeInit): Specs {
  const providers: Record<string, AnyProvider> = { ...init.providers };
  const models: Record<string, ModelSpecInput> = { ...init.models };
  const agents: Record<string, AgentSpecInput> = {};
  for (const [id, agent] of Object.entries(init.agents)) {
    if (!hasModelObject(agent)) {
      agents[id] = agent;
      continue;
    }
    const name = `${id}:model`;
    providers[name] = agent.model;
    models[name] = { provider: name, model: agent.model.modelId };
    agents[id] = { ...agent, model: name };
  }
  return { providers, models, agents };
}

/** The runtime with its batteries: AI SDK providers and models as they are, and threads in memory unless a store is given. */
export function createRuntime(init: RuntimeInit): Runtime {
  const { providers, models, agents } = nameModels(init);
  const runtime = createCoreRuntime({
    ...init,
    models,
    agents,
    providers: toProviders(providers),
    store: init.store ?? memoryStore(),
  });
  return { ...runtime, registry: new Registry(runtime.registry) };
}

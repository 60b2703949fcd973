import { AwakenError, describeType } from "@awaken/contract";
import { checkId } from "./read-entry.ts";
import { checkSet, type RegistrySet } from "./registry-set.ts";

/** `cascade-unused-models` is another name of the cascade. */
export type ProviderRemovalPolicy = "block-if-referenced" | "cascade-unused-model-bindings" | "cascade-unused-models";

/** What stands on a provider. Lists are sorted; pools count as models. */
export interface ProviderRemovalPreview {
  /** The provider that was asked about. */
  readonly providerId: string;
  /** Models of it, and pools with one of them. */
  readonly modelIds: readonly string[];
  /** Agents that use one of those. */
  readonly agentIds: readonly string[];
  /** Whether `block-if-referenced` would let it go. */
  readonly blockIfReferencedAllowed: boolean;
  /** Whether the cascade would let it go. */
  readonly cascadeUnusedModelBindingsAllowed: boolean;
}

export interface ProviderRemovalImpact {
  /** The provider that is gone. */
  readonly providerId: string;
  /** What went with it. */
  readonly removedModelIds: readonly string[];
  /** Agents that used what went. */
  readonly affectedAgentIds: readonly string[];
}

export const providerNotFound = (id: string): AwakenError =>
  new AwakenError("provider_not_found", `provider not found: ${id}`, { details: { providerId: id } });

/** What stands on a provider in this set, without a handle. */
export function previewProviderRemoval(set: RegistrySet, id: string): ProviderRemovalPreview {
  checkSet(set);
  checkId("provider", id);
  if (!set.providers.has(id)) throw providerNotFound(id);
  const models = [...set.models.values()].filter(({ provider }) => provider === id).map((model) => model.id);
  const own = new Set(models);
  const pools = [...set.pools.values()].filter(({ members }) => members.some(({ model }) => own.has(model))).map((pool) => pool.id);
  const used = new Set([...models, ...pools]);
  const agents = [...set.agents.values()].filter((agent) => agent.type === "local" && used.has(agent.model)).map((agent) => agent.id);
  return {
    providerId: id,
    modelIds: [...used].sort(),
    agentIds: agents.sort(),
    blockIfReferencedAllowed: used.size === 0,
    cascadeUnusedModelBindingsAllowed: agents.length === 0 && pools.length === 0,
  };
}

const quoteAll = (ids: readonly string[]): string => `[${ids.map((id) => JSON.stringify(id)).join(", ")}]`;

const nameOf = (policy: unknown): string => (typeof policy === "string" ? `'${policy}'` : describeType(policy));

function isAllowed(preview: ProviderRemovalPreview, policy: ProviderRemovalPolicy): boolean {
  switch (policy) {
    case "block-if-referenced":
      return preview.blockIfReferencedAllowed;
    case "cascade-unused-model-bindings":
    case "cascade-unused-models":
      return preview.cascadeUnusedModelBindingsAllowed;
    default:
      throw new AwakenError("config_validation_failed", `config validation failed: unknown provider removal policy ${nameOf(policy)}`);
  }
}

/** What to remove. Throws `provider_in_use` when the policy does not allow it. */
export function planProviderRemoval(set: RegistrySet, id: string, policy: ProviderRemovalPolicy): ProviderRemovalImpact {
  const preview = previewProviderRemoval(set, id);
  const { modelIds, agentIds } = preview;
  if (!isAllowed(preview, policy)) {
    const users = `models ${quoteAll(modelIds)} and agents ${quoteAll(agentIds)}`;
    throw new AwakenError("provider_in_use", `provider '${id}' is still referenced by ${users}`, {
      details: { providerId: id, modelIds, agentIds },
    });
  }
  return { providerId: id, removedModelIds: modelIds, affectedAgentIds: agentIds };
}

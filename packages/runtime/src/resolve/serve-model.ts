import { AwakenError, type Provider, perObject } from "@awaken/contract";
import type { ModelSpec, PoolSpec } from "@awaken/contract/spec";
import { type ModelCapabilities, modelCapabilities, poolCapabilities } from "../inference/capabilities.ts";
import { guardModalities } from "../inference/modality-guard.ts";
import type { PoolCache } from "../inference/pool/pool-cache.ts";
import { normalizeModelName } from "../registry/provider-entry.ts";
import type { RegistrySet } from "../registry/registry-set.ts";

/** A model or a pool, with whom to ask. */
export interface ServedModel {
  readonly provider: Provider;
  /** In the registry; a pool is its own provider. */
  readonly providerId: string;
  /** The name that the provider knows it by. */
  readonly upstream: string;
  readonly capabilities: ModelCapabilities;
  /** The model, or the members of the pool. */
  readonly specs: readonly ModelSpec[];
}

interface ServedMember extends ServedModel {
  readonly signature: string;
}

/** Of the process, like the breakers that it tells apart: two runtimes that are given one provider know who is down from each other. */
let instances = 0;

/** Two providers of one name are still two: a pool must not go on with the one that was replaced. */
const instance = perObject((_provider: Provider): number => ++instances);

function serveModel(set: RegistrySet, model: ModelSpec): ServedMember {
  const entry = set.providers.get(model.provider);
  if (entry === undefined) {
    throw new AwakenError("provider_not_found", `provider not found: ${model.provider}`, { details: { providerId: model.provider } });
  }
  const capabilities = modelCapabilities(model, entry.discovered.get(normalizeModelName(model.model)));
  // A guess must not refuse a request, so only what is trusted guards.
  const input = capabilities.trusted.modalities?.input ?? [];
  return {
    provider: guardModalities(entry.provider, input),
    providerId: model.provider,
    upstream: model.model,
    capabilities,
    specs: [model],
    signature: JSON.stringify([entry.signature, instance(entry.provider), input]),
  };
}

const modelNotFound = (id: string): AwakenError =>
  new AwakenError("model_not_found", `model not found: ${id}`, { details: { modelId: id } });

function servePool(set: RegistrySet, spec: PoolSpec, pools: PoolCache): ServedModel {
  const members = spec.members.map(({ model: id }) => {
    const model = set.models.get(id);
    if (model === undefined) throw modelNotFound(id);
    return { model: id, ...serveModel(set, model) };
  });
  return {
    provider: pools.get({ spec, members }),
    providerId: spec.id,
    upstream: spec.id,
    capabilities: poolCapabilities(members.map(({ capabilities }) => capabilities)),
    specs: members.flatMap(({ specs }) => specs),
  };
}

/** Finds who serves a model id, which may be a pool's. */
export function resolveModel(set: RegistrySet, id: string, pools: PoolCache): ServedModel {
  const model = set.models.get(id);
  const pool = set.pools.get(id);
  if (model !== undefined && pool !== undefined) {
    throw new AwakenError("resolve_failed", `model id resolves to both a model and a model pool: ${id}`, { details: { modelId: id } });
  }
  if (pool !== undefined) return servePool(set, pool, pools);
  if (model === undefined) throw modelNotFound(id);
  return serveModel(set, model);
}

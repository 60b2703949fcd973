import { checkOptions, needed, type PartRules, partRule } from "@awaken/contract";
import type { AgentSpecInput, ModelSpecInput, PoolSpecInput } from "@awaken/contract/spec";
import { asBuildFailure, checkModelIds } from "./conflict.ts";
import { createRegistrySet, type SpecList } from "./create-registry-set.ts";
import { validateRegistry } from "./diagnostics.ts";
import type { ProviderInput } from "./provider-entry.ts";
import { checkSet, type RegistrySet } from "./registry-set.ts";

/** What managed configuration holds. Pools that are not given stay as they are. */
export interface RegistryRebuild {
  /** All that there shall be: a provider that is not here is gone. */
  readonly providers: { readonly [id: string]: ProviderInput };
  /** All that there shall be. */
  readonly models: SpecList<ModelSpecInput>;
  /** All that there shall be. */
  readonly agents: SpecList<AgentSpecInput>;
  /** Left out, the pools stay as they are. */
  readonly pools?: SpecList<PoolSpecInput>;
}

const TABLE = partRule("an object or a list", (value) => typeof value === "object" && value !== null);

const REBUILD: PartRules<RegistryRebuild> = { providers: needed(TABLE), models: needed(TABLE), agents: needed(TABLE), pools: TABLE };

/** The same live provider keeps what is known about it. */
function keepKnown(base: RegistrySet, providers: RegistryRebuild["providers"]): RegistryRebuild["providers"] {
  const kept = Object.entries(providers).map(([id, input]) => {
    const known = base.providers.get(id);
    return [id, known !== undefined && known.provider === input ? known : input] as const;
  });
  return Object.fromEntries(kept);
}

function build(base: RegistrySet, update: RegistryRebuild): RegistrySet {
  // By their names: what is given may have them from its class.
  const { providers: given, models: givenModels, agents: givenAgents, pools: givenPools = [] } = update;
  const made = createRegistrySet({ providers: keepKnown(base, given), models: givenModels, agents: givenAgents, pools: givenPools });
  const { providers, models, pools, agents } = made;
  const next = Object.freeze({ ...base, providers, models, agents, pools: update.pools === undefined ? base.pools : pools });
  checkModelIds(next, models, pools);
  return next;
}

/** A valid set with other providers, models and agents; tools, plugins and backends stay. */
export function rebuildAgentModelProvider(base: RegistrySet, update: RegistryRebuild): RegistrySet {
  checkSet(base);
  checkOptions("registry_build_failed", "registry build failed: a rebuild", update, REBUILD);
  try {
    const next = build(base, update);
    validateRegistry(next);
    return next;
  } catch (thrown) {
    throw asBuildFailure(thrown);
  }
}

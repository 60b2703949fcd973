import { AwakenError } from "@awaken/contract";
import { categoryOf, type RegistrySet, type TableName } from "./registry-set.ts";

/** Pools are in the namespace of models, so theirs are conflicts of the model registry. */
export function registryConflict(name: TableName, id: string, as = ""): AwakenError {
  const category = name === "pools" ? "model" : categoryOf(name);
  return new AwakenError("registry_conflict", `${category} registry conflict: ${categoryOf(name)} '${id}' already registered${as}`, {
    details: { category, id },
  });
}

interface Ids {
  has(id: string): boolean;
  keys(): Iterable<string>;
}

/** No model may have the id of a pool. `models` and `pools` are what was just registered: where both were, the pool is told of. */
export function checkModelIds(set: Pick<RegistrySet, "models" | "pools">, models: Ids, pools: Ids): void {
  for (const id of [...models.keys(), ...pools.keys()]) {
    if (!set.models.has(id) || !set.pools.has(id)) continue;
    throw pools.has(id) ? registryConflict("pools", id, " as a model") : registryConflict("models", id, " as a pool");
  }
}

/** Conflicts inside an edit of a published set are told as failures to build the next one. */
export function asBuildFailure(thrown: unknown): unknown {
  if (!AwakenError.is(thrown) || thrown.code !== "registry_conflict") return thrown;
  const { message, details } = thrown;
  return new AwakenError("registry_build_failed", `registry build failed: ${message}`, { details, cause: thrown });
}

import { AwakenError } from "@awaken/contract";
import { CATEGORY } from "./read-entry.ts";
import type { RegistrySet, TableName } from "./registry-set.ts";

/** Pools are in the namespace of models, so theirs are conflicts of the model registry. */
export function registryConflict(name: TableName, id: string, as = ""): AwakenError {
  const category = name === "pools" ? "model" : CATEGORY[name];
  return new AwakenError("registry_conflict", `${category} registry conflict: ${CATEGORY[name]} '${id}' already registered${as}`, {
    details: { category, id },
  });
}

interface Ids {
  has(id: string): boolean;
  keys(): Iterable<string>;
}

/** No model may have the id of a pool. `models` and `pools` are what was just registered, models first. */
export function checkModelIds(set: Pick<RegistrySet, "models" | "pools">, models: Ids, pools: Ids): void {
  for (const id of models.keys()) {
    if (set.models.has(id) && set.pools.has(id) && !pools.has(id)) throw registryConflict("models", id, " as a pool");
  }
  for (const id of pools.keys()) {
    if (set.models.has(id) && set.pools.has(id)) throw registryConflict("pools", id, " as a model");
  }
}

/** Conflicts inside an edit of a published set are told as failures to build the next one. */
export function asBuildFailure(thrown: unknown): unknown {
  if (!AwakenError.is(thrown) || thrown.code !== "registry_conflict") return thrown;
  const { message, details } = thrown;
  return new AwakenError("registry_build_failed", `registry build failed: ${message}`, { details, cause: thrown });
}

import type { Turn } from "@awaken/contract";
import { type ModelSpec, modelCostUsd } from "@awaken/contract/spec";

/** Who answered, and what that cost. */
export interface ServedModel {
  readonly provider: string;
  readonly model: string;
  /** Undefined unless the model has both prices. */
  readonly costUsd: number | undefined;
}

export interface AskedModel {
  /** In the registry; a pool is its own provider. */
  readonly provider: string;
  readonly request: { readonly model: string };
  /** The model as it is registered, or the members of the pool. */
  readonly models: readonly ModelSpec[];
}

/** The model that was asked; of a pool the member that answered, when it is known. An override asks for a model that has no price here. */
export function servedModel({ provider, request, models }: AskedModel, turn?: Pick<Turn, "model" | "servedBy" | "usage">): ServedModel {
  const model = turn?.model ?? request.model;
  const spec =
    turn?.servedBy === undefined
      ? models.find((each) => each.provider === provider && each.model === model)
      : models.find(({ id }) => id === turn.servedBy);
  if (spec === undefined) return { provider, model, costUsd: undefined };
  return { provider: spec.provider, model: spec.model, costUsd: turn === undefined ? undefined : modelCostUsd(spec, turn.usage) };
}

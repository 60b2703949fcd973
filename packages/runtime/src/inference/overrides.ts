import { AwakenError, type InferenceOverride, type InferenceRequest } from "@awaken/contract";

/** Later layers win, field by field: agent, run, step. */
export function mergeOverrides(...layers: readonly (InferenceOverride | undefined)[]): InferenceOverride {
  return Object.assign({}, ...layers);
}

export interface OverrideTarget {
  /** The name that the provider knows the model by. */
  readonly model: string;
  readonly provider: { readonly name: string; readonly canOverrideModel?: boolean };
  readonly maxOutputTokens: number | undefined;
}

/** The model and the parameters to ask with. An answer longer than the model can give is not asked for. */
export function applyOverrides(target: OverrideTarget, override: InferenceOverride): Pick<InferenceRequest, "model" | "overrides"> {
  const { upstreamModel, ...overrides } = override;
  const model = upstreamModel === undefined ? target.model : overriddenModel(target, upstreamModel);
  const { maxTokens } = overrides;
  const limit = target.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const clamped = maxTokens === undefined || maxTokens <= limit ? overrides : { ...overrides, maxTokens: limit };
  return Object.keys(clamped).length === 0 ? { model } : { model, overrides: clamped };
}

function overriddenModel({ provider }: OverrideTarget, upstreamModel: string): string {
  if (provider.canOverrideModel === false) {
    throw new AwakenError("capability_mismatch", `'${provider.name}' is a pool of models: a run cannot ask it for '${upstreamModel}'`, {
      details: { provider: provider.name, upstreamModel },
    });
  }
  if (upstreamModel.trim() === "") throw new AwakenError("invalid_activation", "an override's 'upstreamModel' must not be blank");
  return upstreamModel;
}

import { AwakenError, type InferenceOverride, type InferenceRequest, inferenceOverrideStateSchema } from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";
import { defineRuntimeState } from "../state/key.ts";

export type InferenceOverridesUpdate = { readonly type: "merge"; readonly override: InferenceOverride } | { readonly type: "clear" };

interface StepOverrides {
  readonly overrides?: InferenceOverride;
}

/** Parameters for the next inference only. Of two that set one field, the later wins. */
export const inferenceOverrides = defineRuntimeState("inference_override_state", {
  merge: "commutative",
  schema: inferenceOverrideStateSchema,
  initial: (): StepOverrides => ({}),
  apply: (value, update: InferenceOverridesUpdate): StepOverrides =>
    update.type === "clear" ? {} : { overrides: { ...value.overrides, ...update.override } },
});

export interface OverrideLayers {
  readonly agent: LocalAgentSpec;
  readonly run: InferenceOverride | undefined;
  readonly step: InferenceOverride | undefined;
}

/** The name of the model to ask. Another one than the resolved can be asked for only where the provider knows it by name. */
export function resolveModel({ run, step }: OverrideLayers, model: string, canOverride: boolean): string {
  const wanted = step?.upstreamModel ?? run?.upstreamModel;
  if (wanted === undefined) return model;
  if (canOverride) return wanted;
  throw new AwakenError("invalid_activation", `upstreamModel '${wanted}' cannot be asked of '${model}': a pool chooses its models itself`, {
    details: { upstreamModel: wanted, model },
  });
}

/** Agent, run, step: the nearest wins, field by field. Undefined when nobody sets anything. */
export function resolveOverrides({ agent, run, step }: OverrideLayers, maxOutputTokens: number | undefined): InferenceRequest["overrides"] {
  const reasoningEffort = step?.reasoningEffort ?? run?.reasoningEffort ?? agent.reasoningEffort;
  if (run === undefined && step === undefined) return reasoningEffort === undefined ? undefined : { reasoningEffort };
  const temperature = step?.temperature ?? run?.temperature;
  const topP = step?.topP ?? run?.topP;
  const asked = step?.maxTokens ?? run?.maxTokens;
  const maxTokens = asked === undefined || maxOutputTokens === undefined ? asked : Math.min(asked, maxOutputTokens);
  const overrides = {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(topP === undefined ? {} : { topP }),
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
  };
  return Object.keys(overrides).length === 0 ? undefined : overrides;
}

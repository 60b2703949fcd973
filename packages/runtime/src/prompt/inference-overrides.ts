import type { InferenceOverride } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";
import { lateSchema } from "../state/late-schema.ts";

export interface StepOverrides {
  readonly overrides?: InferenceOverride;
}

/** Parameters for the next inference only. Of two that set one field, the later wins. Changes are made in `changes.ts`. */
export const inferenceOverrides = defineRuntimeState("inference_override_state", {
  merge: "commutative",
  schema: lateSchema((room) => room.inferenceOverrideStateSchema),
  initial: (): StepOverrides => ({}),
  apply: (value, change: (value: StepOverrides) => StepOverrides): StepOverrides => change(value),
});

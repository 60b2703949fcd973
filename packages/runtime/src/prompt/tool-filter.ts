import { defineRuntimeState } from "../state/key.ts";
import { lateSchema } from "../state/late-schema.ts";

export interface ToolFilter {
  readonly excluded: readonly string[];
  readonly includeOnly: readonly (readonly string[])[];
}

/** Which tools this step hides from the model. Hiding blocks no call; that is a gate's work. Changes are made in `changes.ts`. */
export const toolFilter = defineRuntimeState("tool_filter_state", {
  merge: "commutative",
  schema: lateSchema((room) => room.toolFilterSchema),
  initial: (): ToolFilter => ({ excluded: [], includeOnly: [] }),
  apply: (value, change: (value: ToolFilter) => ToolFilter): ToolFilter => change(value),
});

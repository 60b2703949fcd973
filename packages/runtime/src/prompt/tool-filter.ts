import type { ToolDescriptor } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";
import { lateSchema } from "../state/late-schema.ts";

export interface ToolFilter {
  readonly excluded: readonly string[];
  readonly includeOnly: readonly (readonly string[])[];
}

export type ToolFilterUpdate =
  | { readonly type: "exclude"; readonly tools: readonly string[] }
  | { readonly type: "include-only"; readonly tools: readonly string[] }
  | { readonly type: "clear" };

const EVERYTHING: ToolFilter = { excluded: [], includeOnly: [] };

/** Which tools this step hides from the model. Hiding blocks no call; that is a gate's work. */
export const toolFilter = defineRuntimeState("tool_filter_state", {
  merge: "commutative",
  schema: lateSchema((room) => room.toolFilterSchema),
  initial: (): ToolFilter => EVERYTHING,
  apply(value, update: ToolFilterUpdate): ToolFilter {
    switch (update.type) {
      case "exclude":
        return { ...value, excluded: [...new Set([...value.excluded, ...update.tools])] };
      case "include-only":
        return { ...value, includeOnly: [...value.includeOnly, update.tools] };
      case "clear":
        return EVERYTHING;
    }
  },
});

export const hidesNothing = ({ excluded, includeOnly }: ToolFilter): boolean => excluded.length === 0 && includeOnly.length === 0;

/** The tools that any include-only list names, or all without one; an exclusion always wins. */
export function offerTools(tools: readonly ToolDescriptor[], { excluded, includeOnly }: ToolFilter): readonly ToolDescriptor[] {
  const named = includeOnly.length === 0 ? undefined : new Set(includeOnly.flat());
  const hidden = new Set(excluded);
  return tools.filter(({ id }) => !hidden.has(id) && (named === undefined || named.has(id)));
}

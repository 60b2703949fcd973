import type { ToolCallId } from "@awaken/contract";

/** A piece of a turn while it arrives, as far as clients hear of it. */
export type TurnPart =
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly signature?: string }
  /** `input` is the JSON, as far as it came. */
  | { readonly type: "call"; readonly id: ToolCallId; readonly name: string; readonly input: string };

import { copyJson, type JsonValue, type ToolResult } from "@awaken/contract";
import { wholeJson } from "./tool-data.ts";

// Tools and gates may come from untyped code. What they hand in is stored, shown to people and read back by other processes, so it is
// made plain and our own, or refused with a TypeError that names the giver: here what most tools give, the rest in `plain-result.ts`.

/** The giver may keep what it gave, and change it. */
export const plainCopy = (giver: string, value: unknown): JsonValue => copyJson(wholeJson(giver, value));

/** Undefined when the result is more than data. */
export function plainData(giver: string, given: ToolResult): ToolResult | undefined {
  if (given.type !== "success" || given.message !== undefined || given.metadata !== undefined || given.media !== undefined)
    return undefined;
  return { type: "success", data: plainCopy(giver, given.data) };
}

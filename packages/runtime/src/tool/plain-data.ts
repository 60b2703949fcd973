import { copyJson, isJson, type ToolResult } from "@awaken/contract";

// Tools and gates may come from untyped code. What they hand in is stored, shown to people and read back by other processes, so it is
// made plain and our own, or refused with a TypeError that names the giver: here what most tools give, the rest in `plain-result.ts`.

/** The giver may keep what it gave, and change it. Undefined when the result is more than JSON, or than a failure in words. */
export function plainData(given: ToolResult): ToolResult | undefined {
  if (given.metadata !== undefined) return undefined;
  if (given.type === "success" && given.message === undefined && given.media === undefined)
    return isJson(given.data) ? { type: "success", data: copyJson(given.data) } : undefined;
  if (given.type !== "error" || given.data !== undefined) return undefined;
  const { code, message } = given;
  return typeof code === "string" && typeof message === "string" ? { type: "error", code, message } : undefined;
}

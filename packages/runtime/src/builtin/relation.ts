import type { JsonObject } from "@awaken/contract";

/** JSON Schema of one way in which a model names whom it means: all of `needed` has to be said, and `more` may be. */
export const relation = (to: string, needed: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties: { relation: { const: to }, ...needed, ...more },
  required: ["relation", ...Object.keys(needed)],
});

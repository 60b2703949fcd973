import * as s from "./schema/all.ts";
import type { Schema } from "./schema.ts";
import type { Termination } from "./termination.ts";

export const TERMINATION_SCHEMAS = {
  "natural-end": s.object({ type: s.literal("natural-end") }),
  "behavior-requested": s.object({ type: s.literal("behavior-requested") }),
  stopped: s.object({ type: s.literal("stopped"), code: s.string(), detail: s.exactOptional(s.string()) }),
  cancelled: s.object({ type: s.literal("cancelled") }),
  blocked: s.object({ type: s.literal("blocked"), reason: s.string() }),
  suspended: s.object({ type: s.literal("suspended") }),
  error: s.object({ type: s.literal("error"), message: s.string(), code: s.exactOptional(s.string()) }),
} as const satisfies { readonly [T in Termination["type"]]: Schema<Extract<Termination, { type: T }>> };

export const terminationSchema = s.taggedUnion("type", Object.values(TERMINATION_SCHEMAS));

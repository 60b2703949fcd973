import * as z from "zod";
import { count, positive } from "./fields.ts";
import type { Immutable } from "./immutable.ts";

export const COMPACTION_MODES = ["keep-recent-raw-suffix", "compact-to-safe-frontier"] as const;
export type CompactionMode = (typeof COMPACTION_MODES)[number];

/** How an agent keeps its history inside the model's window. Resolution narrows it to what the model can hold. */
export const contextPolicySchema = z.strictObject({
  maxContextTokens: positive.default(200_000),
  /** Kept free for the answer; not sent to the provider. */
  maxOutputTokens: positive.default(16_384),
  minRecentMessages: count.default(10),
  enablePromptCache: z.boolean().default(true),
  /** Without it nothing is compacted. */
  autocompactThreshold: count.exactOptional(),
  compactionMode: z.enum(COMPACTION_MODES).default("keep-recent-raw-suffix"),
  compactionRawSuffixMessages: count.default(2),
});

export interface ContextPolicy extends Immutable<z.output<typeof contextPolicySchema>> {}

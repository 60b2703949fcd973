import * as s from "../schema/all.ts";
import { count, positive } from "./fields.ts";
import type { Immutable } from "./immutable.ts";

export const COMPACTION_MODES = ["keep-recent-raw-suffix", "compact-to-safe-frontier"] as const;

/** How an agent keeps its history inside the model's window. Resolution narrows it to what the model can hold. */
export const contextPolicySchema = s.strictObject({
  /** How long a request may be, with its answer. Default 200,000, or the model's window when that is smaller. */
  maxContextTokens: s.withDefault(positive, 200_000),
  /** Kept free for the answer; not sent to the provider. */
  maxOutputTokens: s.withDefault(positive, 16_384),
  /** So many messages are never cut from the end. Default 10. */
  minRecentMessages: s.withDefault(count, 10),
  /** Whether the vendor may keep the beginning of the prompt. Default true. */
  enablePromptCache: s.withDefault(s.boolean(), true),
  /** Without it nothing is compacted. */
  autocompactThreshold: s.exactOptional(count),
  /** Whether the last messages stay as they are, or all that is complete is summarised. */
  compactionMode: s.withDefault(s.enum(COMPACTION_MODES), "keep-recent-raw-suffix"),
  /** With `keep-recent-raw-suffix`: how many stay as they are. Default 2. */
  compactionRawSuffixMessages: s.withDefault(count, 2),
});

export interface ContextPolicy extends Immutable<s.output<typeof contextPolicySchema>> {}

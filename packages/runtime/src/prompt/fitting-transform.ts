import type { ArtifactLimits } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import type { Transform } from "../plugin/registrar.ts";
import { estimateInstructions, estimateTools } from "./estimate.ts";
import { createPreviewer } from "./preview.ts";
import { truncateMessages } from "./truncate.ts";

/** Long tool results become previews, then the oldest messages are left out. */
export function fittingTransform(policy: ContextPolicy, instructions: string, limits: ArtifactLimits): Transform {
  const preview = createPreviewer(limits);
  const tokens = policy.maxContextTokens - policy.maxOutputTokens - estimateInstructions(instructions);
  return (messages, tools) =>
    truncateMessages(preview(messages), { tokens: tokens - estimateTools(tools), minRecent: policy.minRecentMessages });
}

import { contextTransformSectionSchema } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { estimateInstructions, estimateTools } from "../../prompt/estimate.ts";
import { createPreviewer } from "../../prompt/preview.ts";
import { truncateMessages } from "../../prompt/truncate.ts";

/**
 * Keeps each request inside the window: long tool results become previews, then the oldest messages are left out. `instructions`
 * travel beside the messages, so a transform does not see them and they are set aside here.
 */
export function contextWindow(policy: ContextPolicy, instructions = ""): Plugin {
  const room = policy.maxContextTokens - policy.maxOutputTokens - estimateInstructions(instructions);
  return definePlugin({
    id: "context_transform",
    config: contextTransformSectionSchema,
    register(r, { artifactCompaction }) {
      const preview = createPreviewer(artifactCompaction);
      r.transform((messages, tools) =>
        truncateMessages(preview(messages), { tokens: room - estimateTools(tools), minRecent: policy.minRecentMessages }),
      );
    },
  });
}

import type { Log } from "@awaken/contract";
import { cancelTaskTool } from "./builtin/background/cancel-task-tool.ts";
import { compaction } from "./builtin/compaction/compaction.ts";
import { contextWindow } from "./builtin/context-window/context-window.ts";
import { delegateTool } from "./builtin/delegate/delegate-tool.ts";
import { handoffTool } from "./builtin/handoff/handoff-tool.ts";
import { knowledgeCutoff } from "./builtin/knowledge-cutoff/knowledge-cutoff.ts";
import { loopActions } from "./builtin/loop-actions/loop-actions.ts";
import { recoverTool } from "./builtin/messages/recover-tool.ts";
import { sendMessageTool } from "./builtin/messages/send-message-tool.ts";
import { stopPolicy } from "./builtin/stop-policy/stop-policy.ts";
import type { Plugin } from "./plugin/define-plugin.ts";
import type { ResolveParts, RuntimePluginInput } from "./resolve/resolve-agent.ts";
import type { Ids } from "./stream/ids.ts";
import type { Tool } from "./tool/tool.ts";

export interface RuntimePluginParts {
  readonly ids: Ids;
  readonly log: Log;
}

/** The plugins that every agent has, in this order, after its own. */
export function runtimePlugins({ ids, log }: RuntimePluginParts): (input: RuntimePluginInput) => readonly Plugin[] {
  return ({ agent, provider, model, policy, knowledgeCutoff: cutoff }) => {
    const { contextPolicy } = agent;
    return [
      loopActions(),
      stopPolicy(agent.maxSteps, agent.stopConditions, agent.handoffs.length > 0),
      ...(cutoff === undefined ? [] : [knowledgeCutoff(cutoff)]),
      ...(contextPolicy === undefined
        ? []
        : [
            compaction({ policy: contextPolicy, provider, model, ids, inference: policy, log }),
            contextWindow(contextPolicy, agent.instructions),
          ]),
    ];
  };
}

/** What an agent has when it names it in its `tools`. */
export const namedTools: readonly Tool[] = [sendMessageTool, cancelTaskTool, recoverTool];

/** What agents have for those that they name. A run cannot be handed over to an agent that runs elsewhere. */
export const agentTools: NonNullable<ResolveParts["agentTools"]> = ({ delegates, handoffs }) => {
  const targets = handoffs.filter(({ type }) => type === "local");
  return { delegates: delegates.map(delegateTool), handoffs: targets.length === 0 ? [] : [handoffTool(targets)] };
};

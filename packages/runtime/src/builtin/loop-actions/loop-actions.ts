import type { ContextMessage } from "@awaken/contract";
import { type Command, command } from "../../phase/command.ts";
import type { HookScene } from "../../phase/hook.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { addContextMessage, type ContextMessageDraft, excludeTool, includeOnlyTools, setInferenceOverride } from "../../prompt/actions.ts";
import { contextMessages } from "../../prompt/context-messages.ts";
import { contentHash, contextThrottle, isDue } from "../../prompt/context-throttle.ts";
import { inferenceOverrides } from "../../prompt/inference-overrides.ts";
import { toolFilter } from "../../prompt/tool-filter.ts";
import { pendingWork } from "../../state/pending-work.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";

const DEFAULTS = { cooldownSteps: 0, persistent: false, consumeAfterEmit: false, priority: 0 };

function addMessage(draft: ContextMessageDraft, { state }: HookScene): Command | undefined {
  const message: ContextMessage = { ...DEFAULTS, ...draft };
  const { key, content, cooldownSteps } = message;
  const lastStep = (state.get(runLifecycle)?.stepCount ?? 0) + 1;
  if (!isDue(message, lastStep, state.get(contextThrottle)?.entries[key])) return undefined;
  const put = command().update(contextMessages, { type: "put", message });
  // Without a cooldown nothing has to be remembered.
  return cooldownSteps === 0 ? put : put.update(contextThrottle, { key, lastStep, contentHash: contentHash(content) });
}

/** The keys of the prompt, and what the `runtime.*` actions do to them. Every agent has it. */
export function loopActions(): Plugin {
  return definePlugin({
    id: "__loop_action_handlers",
    register(r) {
      r.state(contextMessages);
      r.state(contextThrottle);
      r.state(toolFilter);
      r.state(inferenceOverrides);
      r.state(pendingWork);
      r.action(addContextMessage, addMessage);
      r.action(setInferenceOverride, (override) => command().update(inferenceOverrides, { type: "merge", override }));
      r.action(excludeTool, (given) =>
        command().update(toolFilter, { type: "exclude", tools: typeof given === "string" ? [given] : given }),
      );
      r.action(includeOnlyTools, (tools) => command().update(toolFilter, { type: "include-only", tools }));
    },
  });
}

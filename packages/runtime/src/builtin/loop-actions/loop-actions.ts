import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { addContextMessage, excludeTool, includeOnlyTools, setInferenceOverride } from "../../prompt/actions.ts";
import { contextMessages } from "../../prompt/context-messages.ts";
import { contextThrottle } from "../../prompt/context-throttle.ts";
import { inferenceOverrides } from "../../prompt/inference-overrides.ts";
import { toolFilter } from "../../prompt/tool-filter.ts";
import { pendingWork } from "../../state/pending-work.ts";
import { whenThere } from "../../stream/door.ts";
import { seldom } from "../seldom-door.ts";

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
      r.action(addContextMessage, (draft, scene) => whenThere(seldom.open(), ({ addMessage }) => addMessage(draft, scene)));
      r.action(setInferenceOverride, (override) => whenThere(seldom.open(), ({ setOverride }) => setOverride(override)));
      r.action(excludeTool, (given) => whenThere(seldom.open(), ({ hideTools }) => hideTools(given)));
      r.action(includeOnlyTools, (tools) => whenThere(seldom.open(), ({ offerOnly }) => offerOnly(tools)));
    },
  });
}

import { knowledgeCutoffSectionSchema } from "@awaken/contract";
import { command } from "../../phase/command.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { addContextMessage } from "../../prompt/actions.ts";
import { contextMessages } from "../../prompt/context-messages.ts";

const KEY = "knowledge_cutoff.context";

const utcDate = (ms: number): string => new Date(ms).toISOString().slice(0, "YYYY-MM-DD".length);

/** Tells the model what day it is and when its knowledge ends, for models whose cutoff is known for sure. */
export function knowledgeCutoff(cutoff: string): Plugin {
  return definePlugin({
    id: "knowledge_cutoff_context",
    config: knowledgeCutoffSectionSchema,
    register(r, { enabled }) {
      if (!enabled) return;
      r.hook("beforeInference", ({ state, clock }) => {
        const content = `Today's date is ${utcDate(clock.now())} (UTC). Your knowledge ends at ${cutoff}; what happened later you do not know.`;
        // It stays from step to step, so there is work only at first, and when midnight passes.
        if (state.get(contextMessages)?.messages[KEY]?.content === content) return undefined;
        const message = { key: KEY, role: "system", target: "system", content, priority: -100, persistent: true } as const;
        return command().schedule(addContextMessage, message);
      });
    },
    // The next agent may have another model.
    onDeactivate: (state) =>
      state.get(contextMessages)?.messages[KEY] === undefined
        ? undefined
        : command().update(contextMessages, { type: "remove", keys: [KEY] }),
  });
}

import { knowledgeCutoffSectionSchema } from "@awaken/contract";
import { command } from "../../phase/command.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { contextMessages } from "../../prompt/context-messages.ts";
import { whenThere } from "../../stream/door.ts";
import { seldom } from "../seldom-door.ts";

/** Of the message that says it. */
const KEY = "knowledge_cutoff.context";

/** Tells the model what day it is and when its knowledge ends, for models whose cutoff is known for sure. */
export function knowledgeCutoff(cutoff: string): Plugin {
  return definePlugin({
    id: "knowledge_cutoff_context",
    config: knowledgeCutoffSectionSchema,
    register(r, { enabled }) {
      if (!enabled) return;
      r.hook("beforeInference", (scene) => whenThere(seldom.open(), ({ tellCutoff }) => tellCutoff(KEY, cutoff, scene)));
    },
    // The next agent may have another model.
    onDeactivate: (state) =>
      state.get(contextMessages)?.messages[KEY] === undefined
        ? undefined
        : command().update(contextMessages, ({ messages: { [KEY]: _over, ...messages } }) => ({ messages })),
  });
}

import { contextTransformSectionSchema } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import type { Transform } from "../../plugin/registrar.ts";
import { seldom } from "../../prompt/seldom-door.ts";
import { whenThere } from "../../stream/door.ts";

/**
 * Keeps each request inside the window: long tool results become previews, then the oldest messages are left out. `instructions`
 * travel beside the messages, so a transform does not see them and they are set aside here. A transform answers at once, so what it needs
 * is loaded before the first inference.
 */
export function contextWindow(policy: ContextPolicy, instructions = ""): Plugin {
  return definePlugin({
    id: "context_transform",
    config: contextTransformSectionSchema,
    register(r, { artifactCompaction }) {
      let made: Transform | undefined;
      r.hook("beforeInference", () => (seldom.room === undefined ? whenThere(seldom.open(), () => undefined) : undefined));
      r.transform((messages, tools) => {
        made ??= seldom.here.fittingTransform(policy, instructions, artifactCompaction);
        return made(messages, tools);
      });
    },
  });
}

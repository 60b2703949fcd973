import { messageId, type UserMessage } from "@awaken/contract";
import { stamp } from "./messages.ts";
import type { RunContext } from "./run-context.ts";

/** Said by the runtime: the model reads it, clients do not see it. */
export const note = (ctx: RunContext, text: string): UserMessage => ({
  id: messageId(ctx.ids()),
  role: "user",
  visibility: "internal",
  content: [{ type: "text", text }],
  metadata: stamp(ctx),
});

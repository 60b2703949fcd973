import { activeAgentSchema } from "@awaken/contract";
import { defineRuntimeState } from "./key.ts";

/** The agent that goes on with the thread, when it is not the one that the run began with. A handoff writes it. */
export const activeAgent = defineRuntimeState("active_agent", {
  scope: "thread",
  schema: activeAgentSchema,
  initial: (): string | null => null,
  apply: (_value, agentId: string | null): string | null => agentId,
});

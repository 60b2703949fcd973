import type { JsonValue } from "@awaken/contract";
import { allow } from "./allow.ts";
import { Reply } from "./plain-reply.ts";
import type { PreparedCall } from "./tool.ts";

/** A call whose answer is the client's. */
export function waitForClient(id: string, input: JsonValue): PreparedCall {
  return {
    input,
    approve: async () => allow(),
    reconcile: async () => ({ type: "not-done" }),
    execute: async () =>
      new Reply(
        {
          type: "pending",
          suspension: {
            action: `tool:${id}`,
            parameters: input,
            resumeMode: "use-decision-as-tool-result",
          },
        },
        undefined,
      ),
  };
}

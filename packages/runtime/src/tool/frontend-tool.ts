import { type ToolDescriptor, ticketId } from "@awaken/contract";
import { Reply } from "./reply.ts";
import type { Tool } from "./tool.ts";
import { guessToolKind } from "./tool-kind.ts";
import { allow } from "./verdict.ts";

/** A tool that the client runs: a call waits for the client's answer, which becomes its result. */
export function frontendTool(descriptor: ToolDescriptor): Tool {
  const { id } = descriptor;
  return {
    id,
    descriptor,
    traits: { kind: guessToolKind(id), idempotent: true, pure: true, canApprove: false, canReconcile: false, timeoutMs: undefined },
    prepare: (input) => ({
      type: "valid",
      value: {
        input,
        approve: async () => allow(),
        reconcile: async () => ({ type: "not-done" }),
        execute: async ({ callId }) =>
          new Reply(
            {
              type: "pending",
              suspension: {
                id: ticketId(`suspend_${callId.trim() === "" ? id : callId}`),
                action: `tool:${id}`,
                parameters: input,
                resumeMode: "use-decision-as-tool-result",
              },
            },
            undefined,
          ),
      },
    }),
  };
}

import type { JsonObject, Ticket } from "@awaken/contract";
import type { Interrupt } from "./frame.ts";

/** A tool that the page runs: its result comes as a message, and is no interrupt. */
export const isFrontendCall = ({ resumeMode, action, toolName }: Pick<Ticket, "resumeMode" | "action" | "toolName">): boolean =>
  resumeMode === "use-decision-as-tool-result" && action === `tool:${toolName}`;

const approvalSchema = (canEdit: boolean): JsonObject => ({
  type: "object",
  properties: { approved: { type: "boolean" }, ...(canEdit ? { editedArgs: { type: "object" } } : undefined) },
  required: ["approved"],
});

function reasonOf({ resumeMode, responseSchema, action }: Ticket): string {
  if (resumeMode === "replay-tool-call" && action === "approve") return "tool_call";
  return responseSchema === undefined ? `awaken:${action}` : "input_required";
}

/** A ticket as AG-UI has it. `below`: of a run that the one on the thread started. */
export function interruptOf(ticket: Ticket, isBelow: boolean): Interrupt {
  const { id, message, toolCallId, toolName, input, action, parameters, responseSchema, canEdit, expiresAt, resumeMode, runId, agentPath } =
    ticket;
  const schema = responseSchema ?? (resumeMode === "replay-tool-call" ? approvalSchema(canEdit ?? true) : undefined);
  return {
    id,
    reason: reasonOf(ticket),
    ...(message === undefined ? undefined : { message }),
    toolCallId,
    ...(schema === undefined ? undefined : { responseSchema: schema }),
    ...(expiresAt === undefined ? undefined : { expiresAt: new Date(expiresAt).toISOString() }),
    ...(isBelow ? { subagentRunId: runId } : undefined),
    metadata: {
      action,
      toolName,
      input,
      ...(parameters === undefined ? undefined : { parameters }),
      ...(agentPath === undefined ? undefined : { agentPath }),
    },
  };
}

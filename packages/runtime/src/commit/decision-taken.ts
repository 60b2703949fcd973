import type { AgentEvent, Decision, RunId, TicketId, ToolCallState } from "@awaken/contract";

export function decisionTaken(runId: RunId, call: ToolCallState, ticketId: TicketId, decision: Decision): AgentEvent {
  const { id: _id, ...said } = decision;
  return { type: "decision-taken", runId, ticketId, toolCallId: call.id, toolName: call.name, ...said };
}

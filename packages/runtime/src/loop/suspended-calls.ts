import { type Suspension, type ToolCallId, type ToolCallState, ticketId } from "@awaken/contract";
import { openTicketOf } from "../commit/tickets.ts";
import { command } from "../phase/command.ts";
import type { ResumedCall } from "../phase/hook.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { inputOf, type LiveCall } from "./live-call.ts";
import { toolMessage } from "./messages.ts";
import type { RunContext, Ticketed } from "./run-context.ts";
import { stateOf } from "./tool-call.ts";
import { UNKNOWN_OUTCOME } from "./unknown-call.ts";

export const newState = (ctx: RunContext, live: LiveCall): ToolCallState => stateOf(ctx, live, "new");

/** Vendors repeat the ids of calls, and plugins may repeat theirs: a decision must never reach another call than the one that was shown. */
export function ticketed(ctx: RunContext, { expiresInMs, expiresAt: _given, ...suspension }: Suspension): Ticketed {
  const id = ticketId(ctx.ids());
  return expiresInMs === undefined ? { ...suspension, id } : { ...suspension, expiresAt: ctx.clock.now() + expiresInMs, id };
}

function earlierOf(live: LiveCall, { suspension, decision }: ResumedCall): NonNullable<ToolCallState["earlier"]> {
  const { resumeMode = "replay-tool-call", expiresInMs: _made, ...waited } = suspension;
  return { suspension: { ...waited, id: suspension.id ?? ticketId(live.call.id) }, resumeMode, decision };
}

export function suspendedState(ctx: RunContext, live: LiveCall, suspension: Ticketed): ToolCallState {
  const { resumeMode, action, message, parameters, responseSchema, canEdit, expiresAt } = suspension;
  const kept: ToolCallState["suspension"] = {
    id: suspension.id,
    action,
    ...(message?.trim() ? { message } : {}),
    ...(parameters === undefined ? {} : { parameters }),
    ...(responseSchema === undefined ? {} : { responseSchema }),
    ...(canEdit === undefined ? {} : { canEdit }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  const state = { ...stateOf(ctx, live, "suspended"), suspension: kept };
  const earlier = action === UNKNOWN_OUTCOME && live.resume !== undefined ? { earlier: earlierOf(live, live.resume) } : {};
  // An input that was edited on an earlier approval stays: the next approval is about what would run.
  return { ...state, input: inputOf(live), resumeMode: resumeMode ?? "replay-tool-call", ...earlier };
}

/** It is told that there is one when it is on record. */
export function announceTicket(ctx: RunContext, callId: ToolCallId): void {
  const ticket = openTicketOf(ctx, callId);
  if (ticket !== undefined) ctx.writer.announce({ type: "ticket-open", ticket });
}

const HELD = "This call has not run yet: a call before it waits for a decision.";

/** In sequence, calls behind one that waits are held: nobody has asked their gates, and they run when it is decided. */
export function holdCall(ctx: RunContext, live: LiveCall): void {
  ctx.state.commit(command().update(toolCallStates, { type: "set", call: newState(ctx, live) }));
  const placeholder = toolMessage(ctx, live.call, { type: "pending", suspension: { action: "held" }, message: HELD });
  ctx.transcript.answer(placeholder, live.messageId);
}

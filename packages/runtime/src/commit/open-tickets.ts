import type { RunIdentity, Ticket, ToolCallId, ToolCallState } from "@awaken/contract";
import type { StateStore } from "../state/store.ts";
import { toolCallStates } from "../state/tool-call-states.ts";

const NO_TICKETS: readonly Ticket[] = Object.freeze([]);

/** A run, as far as its tickets are concerned. */
export interface TicketSource {
  readonly state: StateStore;
  readonly identity: RunIdentity;
}

function ticketOf({ identity }: TicketSource, call: ToolCallState): Ticket | undefined {
  if (call.status !== "suspended" || call.suspension === undefined) return undefined;
  const { id, action, message, parameters, responseSchema } = call.suspension;
  return {
    id,
    runId: identity.runId,
    threadId: identity.threadId,
    toolCallId: call.id,
    toolName: call.name,
    input: call.input,
    action,
    resumeMode: call.resumeMode,
    updatedAt: call.updatedAt,
    ...(message === undefined ? {} : { message }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(responseSchema === undefined ? {} : { responseSchema }),
  };
}

const callsOf = ({ state }: TicketSource): readonly ToolCallState[] => state.snapshot().get(toolCallStates)?.calls ?? [];

/** The open tickets of the run, in call order. */
export function openTickets(ctx: TicketSource): readonly Ticket[] {
  const calls = callsOf(ctx);
  if (!calls.some((call) => call.status === "suspended")) return NO_TICKETS;
  return calls.flatMap((call) => ticketOf(ctx, call) ?? []);
}

/** The ticket of a call, while it waits. */
export function openTicketOf(ctx: TicketSource, callId: ToolCallId): Ticket | undefined {
  const call = callsOf(ctx).find(({ id }) => id === callId);
  return call === undefined ? undefined : ticketOf(ctx, call);
}

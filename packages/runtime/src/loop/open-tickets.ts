import type { RunIdentity, Ticket } from "@awaken/contract";
import type { StateStore } from "../state/store.ts";
import { toolCallStates } from "../state/tool-call-states.ts";

const NO_TICKETS: readonly Ticket[] = Object.freeze([]);

/** A run, as far as its tickets are concerned. */
export interface TicketSource {
  readonly state: StateStore;
  readonly identity: RunIdentity;
}

/** The open tickets of the run, in call order. */
export function openTickets(ctx: TicketSource): readonly Ticket[] {
  const calls = ctx.state.snapshot().get(toolCallStates)?.calls;
  if (calls === undefined || !calls.some((call) => call.status === "suspended")) return NO_TICKETS;
  return calls
    .filter((call) => call.status === "suspended" && call.suspension !== undefined)
    .flatMap((call): Ticket[] => {
      if (call.suspension === undefined) return [];
      const { id, action, message, parameters, responseSchema } = call.suspension;
      return [
        {
          id,
          runId: ctx.identity.runId,
          threadId: ctx.identity.threadId,
          toolCallId: call.id,
          toolName: call.name,
          input: call.input,
          action,
          resumeMode: call.resumeMode,
          updatedAt: call.updatedAt,
          ...(message === undefined ? {} : { message }),
          ...(parameters === undefined ? {} : { parameters }),
          ...(responseSchema === undefined ? {} : { responseSchema }),
        },
      ];
    });
}

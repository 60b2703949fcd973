import type { Ticket } from "@awaken/contract";
import { seldom } from "./seldom-door.ts";
import { callsOf, type TicketSource } from "./ticket-source.ts";

const NO_TICKETS: readonly Ticket[] = Object.freeze([]);

/** The open tickets of the run, in call order. Whatever makes a call wait has loaded what makes its ticket. */
export function openTickets(ctx: TicketSource): readonly Ticket[] {
  const calls = callsOf(ctx);
  if (calls.length === 0 || !calls.some((call) => call.status === "suspended")) return NO_TICKETS;
  return seldom.here.ticketsOf(ctx, calls);
}

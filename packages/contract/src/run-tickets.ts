import type { TicketId } from "./ids.ts";
import type { RunProjection } from "./run.ts";
import type { Ticket } from "./suspension.ts";

const NO_TICKETS: readonly Ticket[] = Object.freeze([]);
const NO_IDS: ReadonlySet<TicketId> = new Set();

/** The tickets that can be decided, in call order. */
export function openTicketsOf(run: RunProjection): readonly Ticket[] {
  if (run.status === "waiting") return run.waiting.tickets;
  return run.status === "running" ? (run.tickets ?? NO_TICKETS) : NO_TICKETS;
}

/** Every ticket that the run has or had, as far as its record knows: what a store finds it by. */
export function ticketIdsOf(run: RunProjection): ReadonlySet<TicketId> {
  if (run.decided.length === 0 && run.closed === undefined && openTicketsOf(run).length === 0) return NO_IDS;
  const ids = new Set(run.decided.map((entry) => entry.ticketId));
  for (const { ticketId } of run.closed ?? []) ids.add(ticketId);
  for (const { id } of openTicketsOf(run)) ids.add(id);
  return ids;
}

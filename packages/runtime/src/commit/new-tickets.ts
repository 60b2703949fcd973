import type { AgentEvent } from "@awaken/contract";
import { openTickets } from "./open-tickets.ts";
import type { TicketSource } from "./ticket-source.ts";

export type TicketOpen = Extract<AgentEvent, { type: "ticket-open" }>;

const NONE: readonly TicketOpen[] = Object.freeze([]);

/** Tickets that listeners have not heard of: they do when the tickets are on record. */
export class NewTickets {
  #events: TicketOpen[] | undefined;

  add(event: TicketOpen): void {
    this.#events ??= [];
    this.#events.push(event);
  }

  /** For the commit that is about to be written. */
  take(): readonly TicketOpen[] {
    const events = this.#events ?? NONE;
    this.#events = undefined;
    return events;
  }

  /** The commit failed. */
  putBack(events: readonly TicketOpen[]): void {
    if (events.length > 0) this.#events = [...events, ...(this.#events ?? [])];
  }
}

/** Those that are still open now. */
export function tellTickets(run: TicketSource, events: readonly TicketOpen[], tell: (event: AgentEvent) => void): void {
  if (events.length === 0) return;
  const open = new Set(openTickets(run).map(({ id }) => id));
  for (const event of events) if (open.has(event.ticket.id)) tell(event);
}

import { EVENT_TABLE, isJsonObject, type JsonValue, type Ticket, validateSync } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";

/** What a reader has come across of the tickets of a run: facts of earlier versions name a ticket only, and the end of the run has it whole. */
export class KnownTickets {
  readonly #tickets = new Map<string, Ticket>();
  readonly #told = new Set<string>();

  get(id: string): Ticket | undefined {
    return this.#tickets.get(id);
  }

  /** Another run begins. */
  clear(): void {
    this.#tickets.clear();
    this.#told.clear();
  }

  /** As the end of a run lists them. */
  addAll(tickets: JsonValue | undefined): void {
    for (const ticket of Array.isArray(tickets) ? tickets : []) {
      const checked = validateSync(EVENT_TABLE["ticket-open"].schema, { type: "ticket-open", ticket });
      if (checked.type === "valid") this.#tickets.set(checked.value.ticket.id, checked.value.ticket);
    }
  }

  tell({ id }: Ticket): void {
    this.#told.add(id);
  }

  /** Those that were neither told nor are about to be. */
  unknown(open: readonly Ticket[], held: readonly StoredEvent[]): readonly Ticket[] {
    const isHeld = (id: string) =>
      held.some(({ payload: { ticketId, ticket } }) => ticketId === id || (isJsonObject(ticket) && ticket["id"] === id));
    return open.filter(({ id }) => !this.#told.has(id) && !isHeld(id));
  }
}

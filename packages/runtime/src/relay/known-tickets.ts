import { type AgentEvent, EVENT_TABLE, type JsonValue, type RunRecord, type Ticket, validateSync } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";

/** What a reader has come across of tickets: a fact of the log names a ticket only, and the record forgets it when it is decided. */
export class KnownTickets {
  readonly #tickets = new Map<string, Ticket>();
  readonly #told = new Set<string>();
  readonly #inputs = new Map<string, JsonValue>();

  get(id: string): Ticket | undefined {
    return this.#tickets.get(id);
  }

  /** Another run begins. */
  clear(): void {
    this.#tickets.clear();
    this.#told.clear();
    this.#inputs.clear();
  }

  /** As a fact of the run lists them. */
  addAll(tickets: JsonValue | undefined): void {
    for (const ticket of Array.isArray(tickets) ? tickets : []) {
      const checked = validateSync(EVENT_TABLE["ticket-open"].schema, { type: "ticket-open", ticket });
      if (checked.type === "valid") this.#tickets.set(checked.value.ticket.id, checked.value.ticket);
    }
  }

  tell({ id }: Ticket): void {
    this.#told.add(id);
  }

  see(event: AgentEvent, { createdAt }: StoredEvent, { runId, threadId }: RunRecord): void {
    if (event.type === "tool-call-ready") this.#inputs.set(event.toolCallId, event.input);
    if (event.type !== "tool-call-end" || event.result.type !== "pending") return;
    const { id, action, message, parameters, responseSchema, resumeMode = "replay-tool-call" } = event.result.suspension;
    if (id === undefined || this.#tickets.has(id)) return;
    const { toolCallId, toolName } = event;
    this.#tickets.set(id, {
      ...{ id, runId, threadId, toolCallId, toolName, action, resumeMode, updatedAt: createdAt },
      input: this.#inputs.get(toolCallId) ?? {},
      ...(message === undefined ? undefined : { message }),
      ...(parameters === undefined ? undefined : { parameters }),
      ...(responseSchema === undefined ? undefined : { responseSchema }),
    });
  }

  /** Those that were neither told nor are about to be. */
  unknown(open: readonly Ticket[], held: readonly StoredEvent[]): readonly Ticket[] {
    return open.filter(({ id }) => !this.#told.has(id) && !held.some(({ payload }) => payload["ticketId"] === id));
  }
}

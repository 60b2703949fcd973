import { AwakenError, type MessageId, openTicketsOf, type RunRecord } from "@awaken/contract";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";

/** Whether the ticket is open on record. */
export const isOpen = (run: RunRecord, { target, isCall }: AddressedDecision): boolean =>
  openTicketsOf(run).some((open) => open.id === target || (isCall && open.toolCallId === target));

/** Whether the record knows what it is about, open or not. */
export function hasTicket(run: RunRecord, addressed: AddressedDecision): boolean {
  const { target, isCall } = addressed;
  const past = [...run.decided, ...(run.closed ?? [])];
  return isOpen(run, addressed) || past.some((ticket) => ticket.ticketId === target || (isCall && ticket.toolCallId === target));
}

/** Whether the run was started by the one of this id, or by one below it. */
export const isBelow = ({ rootRunId, activation }: RunRecord, id: string): boolean =>
  rootRunId === id || activation.trace.ancestors?.some(({ runId }) => runId === id) === true;

/** What closed the ticket instead of a decision, if something did. */
const closedBy = ({ closed = [] }: RunRecord, ticket: string): MessageId | undefined =>
  closed.find((entry) => entry.ticketId === ticket)?.closedBy;

export function notOpen(ticket: string, run: RunRecord): AwakenError {
  const { runId } = run;
  const by = closedBy(run, ticket);
  if (by === undefined) {
    const why = `the ticket '${ticket}' of run '${runId}' is not open any more`;
    return new AwakenError("ticket_not_open", why, { details: { ticketId: ticket, runId } });
  }
  const why = `the ticket '${ticket}' of run '${runId}' was closed by the message '${by}'; if its call had been started, reconcile puts on record what became of it`;
  return new AwakenError("ticket_not_open", why, { details: { ticketId: ticket, runId, closedBy: by } });
}

export const unknownTicket = (ticket: string) =>
  new AwakenError("ticket_not_found", `no run has the ticket '${ticket}'`, { details: { ticketId: ticket } });

/** Why there is nothing to decide. */
export const tooLate = (run: RunRecord, addressed: AddressedDecision): AwakenError =>
  hasTicket(run, addressed) ? notOpen(addressed.target, run) : unknownTicket(addressed.target);

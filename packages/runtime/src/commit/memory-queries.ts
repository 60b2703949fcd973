import { openTicketsOf, type RunId, type RunRecord, type Ticket, type TicketId, ticketIdsOf } from "@awaken/contract";
import type { Page, RunFilter, RunPosition } from "@awaken/contract/store";

// What is asked about the runs of a runtime without a store, besides each by itself.

/** In one page, as the runtime asks for it: runs of a thread, or below a run, that are not over. */
export const listRuns = (
  runs: readonly RunRecord[],
  { threadId, statuses, parentRunId, rootRunId }: RunFilter,
): Page<RunRecord, RunPosition> => ({
  items: runs.filter(
    (run) =>
      (threadId === undefined || run.threadId === threadId) &&
      (parentRunId === undefined || run.parentRunId === parentRunId) &&
      (rootRunId === undefined || run.rootRunId === rootRunId) &&
      (statuses === undefined || statuses.includes(run.status)),
  ),
});

export function listByTicket(runs: readonly RunRecord[], id: TicketId): readonly RunRecord[] {
  const isOpen = (run: RunRecord) => run.status === "waiting" && run.waiting.tickets.some((ticket) => ticket.id === id);
  const found = runs.filter((run) => ticketIdsOf(run).has(id));
  return [...found.filter(isOpen), ...found.filter((run) => !isOpen(run)).reverse()];
}

export const listOpenTickets = (runs: readonly RunRecord[], root: RunId): readonly Ticket[] =>
  runs.filter((run) => run.runId === root || run.rootRunId === root).flatMap(openTicketsOf);

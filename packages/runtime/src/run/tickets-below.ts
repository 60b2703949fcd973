import type { RunId, RunIdentity, Ticket } from "@awaken/contract";
import type { RunStore } from "@awaken/contract/store";

/** What tickets of a family are read from. */
export interface FamilyRecords {
  readonly runs: Pick<RunStore, "load" | "listOpenTickets">;
}

/** What a run and all runs below it wait for. They are the rows of those runs, found by the root of the family. */
export async function ticketsBelow(
  { runs }: FamilyRecords,
  { runId, rootRunId = runId }: Pick<RunIdentity, "runId" | "rootRunId">,
): Promise<readonly Ticket[]> {
  const all = await runs.listOpenTickets(rootRunId);
  if (rootRunId === runId) return all;
  const below = new Map<RunId, boolean>();
  for (const ticket of all) {
    if (below.has(ticket.runId)) continue;
    let above: RunId | undefined = ticket.runId;
    while (above !== undefined && above !== runId && above !== rootRunId) above = (await runs.load(above))?.parentRunId;
    below.set(ticket.runId, above === runId);
  }
  return all.filter((ticket) => below.get(ticket.runId) === true);
}

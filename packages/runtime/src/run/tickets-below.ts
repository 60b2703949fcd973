import type { RunIdentity, Ticket } from "@awaken/contract";
import type { RunRecords } from "../loop/run-records.ts";

type OfFamily = Pick<RunIdentity, "runId" | "agentId" | "agentPath" | "rootRunId">;

/** What a run and all runs below it wait for. They are the rows of those runs, found by the root of the family. */
export async function ticketsBelow({ runs }: Pick<RunRecords, "runs">, identity: OfFamily): Promise<readonly Ticket[]> {
  const { runId, agentId, rootRunId = runId, agentPath = [agentId] } = identity;
  const all = await runs.listOpenTickets(rootRunId);
  if (rootRunId === runId) return all;
  return all.filter((ticket) => agentPath.every((name, index) => ticket.agentPath?.[index] === name));
}

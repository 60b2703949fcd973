import { openTicketsOf, type RunActivation, type RunId, type RunRecord, type TicketId, ticketIdsOf } from "@awaken/contract";
import type { RunStore } from "@awaken/contract/store";
import type { RunMove } from "../plan/commit-plan.ts";
import { type Kept, recordOf, restRun } from "./at-rest.ts";
import { idsOf, withId } from "./ids.ts";
import type { Journal } from "./journal.ts";
import type { Copies } from "./own.ts";
import { isSame, share } from "./share.ts";
import type { Access, Change, Tables, ThreadRow } from "./tables.ts";

/** What runs ask for. */
export const runReads = ({ read }: Access): Pick<RunStore, "load"> => ({
  load: (id) => read((tables) => share(tables.runs.get(id))),
});

export function* runsOf(tables: Tables, row: ThreadRow | undefined): Iterable<RunRecord> {
  for (const runId of idsOf(row?.runIds)) {
    const run = tables.runs.get(runId);
    if (run !== undefined) yield run;
  }
}

/** Replaces the stored run with the one that the commit carries. Gives the stored one. */
export function writeRun(change: Change, row: ThreadRow, { before, after: run }: RunMove, copies: Copies | undefined): RunRecord {
  const { tables, journal } = change;
  const { runId, activation } = run;
  const owned = copies === undefined ? run : copies.ownWith(run, "activation", tables.lastActivation);
  if (copies === undefined) run.activation = sharedActivation(tables, activation);
  const kept = restRun(owned);
  journal.put(tables.runs, runId, kept, before);
  tables.lastGiven = activation;
  tables.lastActivation = owned.activation;
  if (before === undefined) {
    journal.keepField(row, "runIds", row.runIds);
    row.runIds = withId(row.runIds, runId, journal);
    noteFamily(change, owned);
  }
  writeTickets(change, before, owned);
  writeLatest(change, row, { before, after: owned }, kept);
  return owned;
}

/** That of the run before it when it is the same: then it is kept once. */
function sharedActivation({ lastGiven, lastActivation: like }: Tables, activation: RunActivation): RunActivation {
  // A run hands the same one over with each of its commits.
  return like !== undefined && (lastGiven === activation || isSame(activation, like)) ? like : activation;
}

function noteFamily({ tables, journal }: Change, { runId, parentRunId, rootRunId }: RunRecord): void {
  noteIn(journal, tables.runsByParent, parentRunId, runId);
  noteIn(journal, tables.runsByRoot, rootRunId, runId);
}

function noteIn<Id>(journal: Journal, index: Map<Id, Set<RunId>>, id: Id | undefined, runId: RunId): void {
  if (id === undefined) return;
  const runs = index.get(id);
  if (runs === undefined) journal.put(index, id, new Set([runId]), undefined);
  else journal.add(runs, runId);
}

export function forgetIn<Id>(journal: Journal, index: Map<Id, Set<RunId>>, id: Id | undefined, runId: RunId): void {
  const runs = id === undefined ? undefined : index.get(id);
  if (id === undefined || runs?.has(runId) !== true) return;
  if (runs.size === 1) journal.delete(index, id);
  else journal.remove(runs, runId);
}

function writeLatest(
  { tables, journal }: Change,
  row: ThreadRow,
  { before, after: run }: { readonly before: RunRecord | undefined; readonly after: RunRecord },
  kept: Kept<RunRecord>,
): void {
  const known = recordOf(row.latestRun);
  let latest = kept;
  if (known !== undefined && known.runId !== run.runId) {
    if (isLater(known, run)) return;
  } else if (before !== undefined && run.updatedAt < before.updatedAt) {
    // Another node's clock may put the latest run back behind an older one.
    let last = run;
    for (const other of runsOf(tables, row)) if (isLater(other, last)) last = other;
    if (last !== run) latest = last;
  }
  journal.keepField(row, "latestRun", row.latestRun);
  row.latestRun = latest;
}

const isLater = (a: RunRecord, b: RunRecord): boolean =>
  a.updatedAt > b.updatedAt || (a.updatedAt === b.updatedAt && a.ordinal > b.ordinal);

const hasTickets = (run: RunRecord | undefined): boolean =>
  run !== undefined && (run.decided.length > 0 || run.closed !== undefined || openTicketsOf(run).length > 0);

const NO_TICKETS: ReadonlySet<TicketId> = new Set();

const ticketsOf = (run: RunRecord | undefined): ReadonlySet<TicketId> => (run === undefined ? NO_TICKETS : ticketIdsOf(run));

/** Keeps the index over tickets in step when a run changes or goes. */
export function writeTickets({ tables, journal }: Change, before: RunRecord | undefined, after: RunRecord | undefined): void {
  if (!hasTickets(before) && !hasTickets(after)) return;
  const runId = (after ?? before)?.runId;
  if (runId === undefined) return;
  const [old, now] = [ticketsOf(before), ticketsOf(after)];
  for (const ticket of old) {
    if (!now.has(ticket)) forgetIn(journal, tables.runsByTicket, ticket, runId);
  }
  for (const ticket of now) {
    if (!old.has(ticket)) noteIn(journal, tables.runsByTicket, ticket, runId);
  }
}

import {
  openTicketsOf,
  type RunActivation,
  type RunId,
  type RunRecord,
  type RunStatus,
  type TicketId,
  ticketIdsOf,
} from "@awaken/contract";
import type { RunFilter, RunPosition, RunStore } from "@awaken/contract/store";
import type { RunMove } from "../plan/commit-plan.ts";
import type { Journal } from "./journal.ts";
import { isSame, ownWith, share } from "./own.ts";
import { compareText, pickFirst } from "./pick.ts";
import type { Access, Change, Tables, ThreadRow } from "./tables.ts";

/** A ticket id that vendors repeat may name many runs. */
const MAX_RUNS_OF_TICKET = 10;

export function runPort({ read }: Access): RunStore {
  return {
    load: (id) => read((tables) => share(tables.runs.get(id))),

    list: ({ after, limit, ...filter }) =>
      read((tables) => {
        const isBehind = (run: RunRecord) => after === undefined || compareRuns(run, after) > 0;
        const page = pickFirst(select(tables, filter, isBehind), compareRuns, limit);
        const last = page.hasMore ? page.items.at(-1) : undefined;
        const next = last === undefined ? undefined : { next: { createdAt: last.createdAt, runId: last.runId } };
        return { items: page.items.map(share), ...next };
      }),

    count: (filter) => read((tables) => [...select(tables, filter)].length),

    countByStatus: () => read((tables) => countRuns(tables.runs.values())),

    loadLatest: (threadId) =>
      read((tables) => {
        const latestId = tables.threads.get(threadId)?.latestRunId;
        return latestId === undefined ? undefined : share(tables.runs.get(latestId));
      }),

    listByTicket: (id) =>
      read((tables) => {
        const runs = [...(tables.runsByTicket.get(id) ?? [])].flatMap((runId) => tables.runs.get(runId) ?? []);
        const rank = (run: RunRecord) => (run.status === "waiting" ? 0 : 1);
        return runs
          .sort((a, b) => rank(a) - rank(b) || compareRuns(b, a))
          .slice(0, MAX_RUNS_OF_TICKET)
          .map(share);
      }),

    listOpenTickets: (root) =>
      read((tables) => {
        const family = [root, ...(tables.runsByRoot.get(root) ?? [])].flatMap((id) => tables.runs.get(id) ?? []).sort(compareRuns);
        return family.flatMap(openTicketsOf).map(share);
      }),
  };
}

export function countRuns(runs: Iterable<RunRecord>): Record<RunStatus, number> {
  const counts = { created: 0, running: 0, waiting: 0, done: 0 };
  for (const run of runs) counts[run.status]++;
  return counts;
}

const compareRuns = (a: RunPosition, b: RunPosition): number => a.createdAt - b.createdAt || compareText(a.runId, b.runId);

function* select(tables: Tables, filter: RunFilter, accepts = (_: RunRecord) => true): Iterable<RunRecord> {
  const { threadId, statuses, parentRunId, rootRunId } = filter;
  for (const run of candidates(tables, filter)) {
    if (threadId !== undefined && run.threadId !== threadId) continue;
    if (parentRunId !== undefined && run.parentRunId !== parentRunId) continue;
    if (rootRunId !== undefined && run.rootRunId !== rootRunId) continue;
    if ((statuses === undefined || statuses.includes(run.status)) && accepts(run)) yield run;
  }
}

/** As few as an index gives. */
function candidates(tables: Tables, { threadId, parentRunId, rootRunId }: RunFilter): Iterable<RunRecord> {
  const listed = (ids: Iterable<RunId> = []) => [...ids].flatMap((id) => tables.runs.get(id) ?? []);
  if (parentRunId !== undefined) return listed(tables.runsByParent.get(parentRunId));
  if (rootRunId !== undefined) return listed(tables.runsByRoot.get(rootRunId));
  return threadId === undefined ? tables.runs.values() : runsOf(tables, tables.threads.get(threadId));
}

function* runsOf(tables: Tables, row: ThreadRow | undefined): Iterable<RunRecord> {
  for (const runId of row?.runIds ?? []) {
    const run = tables.runs.get(runId);
    if (run !== undefined) yield run;
  }
}

/** Replaces the stored run with the one that the commit carries. Gives the stored one. */
export function writeRun(change: Change, row: ThreadRow, { before, after: run }: RunMove, isHandedOver: boolean): RunRecord {
  const { tables, journal } = change;
  const { runId, activation } = run;
  const owned = isHandedOver ? run : ownWith(run, "activation", tables.lastActivation);
  if (isHandedOver) run.activation = sharedActivation(tables, activation);
  journal.set(tables.runs, runId, owned, before);
  tables.lastGiven = activation;
  tables.lastActivation = owned.activation;
  if (before === undefined) {
    journal.keepField(row, "runIds", row.runIds);
    row.runIds = journal.extended(row.runIds, [runId]);
    noteFamily(change, owned);
  }
  writeTickets(change, before, owned);
  writeLatest(change, row, before, owned);
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
  if (runs === undefined) journal.set(index, id, new Set([runId]));
  else journal.add(runs, runId);
}

export function forgetIn<Id>(journal: Journal, index: Map<Id, Set<RunId>>, id: Id | undefined, runId: RunId): void {
  const runs = id === undefined ? undefined : index.get(id);
  if (id === undefined || runs?.has(runId) !== true) return;
  if (runs.size === 1) journal.delete(index, id);
  else journal.remove(runs, runId);
}

function writeLatest({ tables, journal }: Change, row: ThreadRow, before: RunRecord | undefined, run: RunRecord): void {
  const isLatest = row.latestRunId === run.runId;
  if (isLatest && before !== undefined && run.updatedAt >= before.updatedAt) return;
  // Another node's clock may put the latest run back behind an older one.
  const others = isLatest ? runsOf(tables, row) : [row.latestRunId === undefined ? run : (tables.runs.get(row.latestRunId) ?? run)];
  let latest = run;
  for (const other of others) if (isLater(other, latest)) latest = other;
  if (latest.runId !== row.latestRunId) journal.assign(row, "latestRunId", latest.runId);
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

import { openTicketsOf, type RunId, type RunRecord, type RunStatus } from "@awaken/contract";
import type { RunFilter, RunPosition, RunStore } from "@awaken/contract/store";
import { recordOf } from "./at-rest.ts";
import { compareText, pickFirst } from "./pick.ts";
import { recordsIn } from "./records.ts";
import { runsOf } from "./runs.ts";
import { share } from "./share.ts";
import type { Access, Tables } from "./tables.ts";

/** A ticket id that vendors repeat may name many runs. */
const MAX_RUNS_OF_TICKET = 10;

/** What runs do not ask for. */
export type RunQueries = Omit<RunStore, "load">;

export function runQueries({ read }: Access): RunQueries {
  return {
    list: ({ after, limit, ...filter }) =>
      read((tables) => {
        const isBehind = (run: RunRecord) => after === undefined || compareRuns(run, after) > 0;
        const page = pickFirst(select(tables, filter, isBehind), compareRuns, limit);
        const last = page.hasMore ? page.items.at(-1) : undefined;
        const next = last === undefined ? undefined : { next: { createdAt: last.createdAt, runId: last.runId } };
        return { items: page.items.map(share), ...next };
      }),

    count: (filter) => read((tables) => [...select(tables, filter)].length),

    countByStatus: () => read((tables) => countRuns(recordsIn(tables.runs))),

    loadLatest: (threadId) => read((tables) => share(recordOf(tables.threads.get(threadId)?.latestRun))),

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
  return threadId === undefined ? recordsIn(tables.runs) : runsOf(tables, tables.threads.get(threadId));
}

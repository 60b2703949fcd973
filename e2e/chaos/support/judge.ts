import type { RunRecord } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { kindOf } from "./client.ts";
import { histories } from "./history.ts";
import { type Entry, readJournals } from "./journal.ts";
import { type Deeds, judgeThread } from "./judge-thread.ts";
import { World } from "./world.ts";

export interface Verdict {
  /** One sentence for each thing that must not be. */
  readonly faults: readonly string[];
  /** Runs that are done. */
  readonly runs: number;
  readonly executions: number;
  /** Executions that repeated one whose process was cut off. */
  readonly repeated: number;
  /** What was asked, by verb and answer. */
  readonly deeds: Readonly<Record<string, number>>;
  /** Accepted decisions whose ticket a message closed first. */
  readonly closedFirst: number;
  /** Accepted decisions about a ticket that another decision was taken on. */
  readonly beaten: number;
}

/** What people may be told: somebody else was faster, or the database was away. */
const REFUSALS: ReadonlySet<string> = new Set([
  "ticket_not_open",
  "thread_already_running",
  "storage_io",
  "commit_unknown",
  "version_conflict",
  "timeout",
]);

function tally(entries: readonly Entry[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { deed, end } of entries) {
    const name = `${deed.op} ${end.type === "refused" ? end.code : end.type}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const refusals = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ deed, end }) =>
    end.type === "refused" && !REFUSALS.has(end.code) ? [`${JSON.stringify(deed)} was refused as ${end.code}: ${end.message}`] : [],
  );

/** An accepted decision is on record with its run; on a thread where people go on talking, a message may have closed the ticket. */
function judgeDecision({ deed, end }: Entry, runs: ReadonlyMap<string, RunRecord>): "kept" | "closed" | "beaten" | "lost" {
  if (deed.op !== "decide" || end.type !== "accepted") return "kept";
  const run = runs.get(deed.run);
  if (run?.decided.some(({ decisionId }) => decisionId === deed.decision) === true) return "kept";
  if (run?.decided.some(({ ticketId }) => ticketId === deed.ticket) === true) return "beaten";
  const isClosed = run?.closed?.some(({ ticketId }) => ticketId === deed.ticket) === true;
  return isClosed && kindOf(run?.threadId ?? "") === "talk" ? "closed" : "lost";
}

export async function judge(store: QueueStore, folder: string): Promise<Verdict> {
  const entries = readJournals(folder);
  const deeds: Omit<Deeds, "said"> = {
    cancelled: new Set(entries.flatMap(({ deed }) => (deed.op === "cancel" ? [deed.run] : []))),
    actions: new Map(entries.flatMap(({ deed }) => (deed.op === "decide" ? [[deed.decision, deed.action] as const] : []))),
  };
  const faults = refusals(entries);
  const runs = new Map<string, RunRecord>();
  let [done, executions, repeated] = [0, 0, 0];
  for await (const history of histories(store, new World(folder))) {
    const said = entries.filter(({ deed }) => "thread" in deed && deed.thread === history.thread);
    faults.push(...judgeThread(history, { ...deeds, said }));
    for (const run of history.runs) runs.set(run.runId, run);
    done += history.runs.filter(({ status }) => status === "done").length;
    executions += history.executions.length;
    repeated += history.executions.filter(({ isNew }) => !isNew).length;
  }
  for (const { deed, end } of entries) {
    if (deed.op === "start" && end.type === "accepted" && !runs.has(String(end.answer))) faults.push(`${JSON.stringify(deed)} has no run`);
  }
  const decided = entries.map((entry) => [entry, judgeDecision(entry, runs)] as const);
  faults.push(...decided.flatMap(([{ deed }, fate]) => (fate === "lost" ? [`${JSON.stringify(deed)} was accepted and is lost`] : [])));
  const count = (of: string) => decided.filter(([, fate]) => fate === of).length;
  return { faults, runs: done, executions, repeated, deeds: tally(entries), closedFirst: count("closed"), beaten: count("beaten") };
}

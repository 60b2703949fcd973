import {
  type AgentUsage,
  addAgentUsage,
  errorMessage,
  type Log,
  type RunId,
  type RunProjection,
  type RunRecord,
  runIdentity,
  type Usage,
} from "@awaken/contract";
import type { RunPosition } from "@awaken/contract/store";
import { countedOf, type LoopResult } from "../loop/finish.ts";
import type { RunRecords } from "../loop/run-records.ts";
import type { RunParts } from "./run-parts.ts";
import { sumOf } from "./run-result.ts";

const PAGE = 1_000;

const isBelow = ({ activation }: RunRecord, id: RunId): boolean => activation.trace.ancestors?.some(({ runId }) => runId === id) === true;

async function usageBelow({ runs }: RunRecords, id: RunId, rootRunId: RunId): Promise<readonly AgentUsage[]> {
  let parts: readonly AgentUsage[] = [];
  let after: RunPosition | undefined;
  do {
    const page = await runs.list({ rootRunId, limit: PAGE, ...(after === undefined ? undefined : { after }) });
    for (const run of page.items) if (isBelow(run, id)) parts = addAgentUsage(parts, countedOf(runIdentity(run), run).usageByAgent);
    after = page.next;
  } while (after !== undefined);
  return parts;
}

const warnUnread = (log: Log, thrown: unknown, runId: RunId): void =>
  log.warn(`what the runs below used could not be read: ${errorMessage(thrown)}`, { runId });

/** Of a run and of all that it started; what is known without asking for others, where they cannot be read. */
export async function usageOfFamily({ records, log }: Pick<RunParts, "records" | "log">, run: RunProjection): Promise<Usage> {
  const { usage, usageByAgent, hasStarted } = countedOf(runIdentity(run), run);
  if (!hasStarted) return usage;
  try {
    return sumOf([...usageByAgent, ...(await usageBelow(records, run.runId, run.rootRunId ?? run.runId))]);
  } catch (thrown) {
    warnUnread(log, thrown, run.runId);
    return sumOf(usageByAgent);
  }
}

/** What a run has used is what all runs below it have, too. One that started none is as it is; nobody is asked. */
export function withFamily(parts: RunParts, result: LoopResult): LoopResult | Promise<LoopResult> {
  if (!result.hasStarted) return result;
  return result.recordedBelow === undefined ? withBelow(parts, result) : withParts(result, result.recordedBelow);
}

/** The agents in the order of the tree, whoever of them was done first. */
const withParts = (result: LoopResult, below: readonly AgentUsage[]): LoopResult => ({
  ...result,
  usageByAgent: addAgentUsage(result.usageByAgent, below).toSorted(byPath),
});

function byPath({ agentPath: a }: AgentUsage, { agentPath: b }: AgentUsage): number {
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [one, other] = [a[at] ?? "", b[at] ?? ""];
    if (one !== other) return one < other ? -1 : 1;
  }
  return a.length - b.length;
}

async function withBelow({ records, log }: RunParts, result: LoopResult): Promise<LoopResult> {
  const { runId } = result;
  try {
    const rootRunId = (await records.runs.load(runId))?.rootRunId ?? runId;
    return withParts(result, await usageBelow(records, runId, rootRunId));
  } catch (thrown) {
    warnUnread(log, thrown, runId);
    return result;
  }
}

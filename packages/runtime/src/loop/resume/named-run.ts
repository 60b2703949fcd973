import { AwakenError, type RunId, type RunRecord, type ThreadId } from "@awaken/contract";
import { sameJson, type ThreadHead } from "@awaken/contract/store";
import { takenUp } from "../../commit/taken-up.ts";
import type { OrderIntent, RunOrder } from "../run-order.ts";
import type { RunRecords } from "../run-records.ts";

export type ResumeIntent = Extract<OrderIntent, { type: "resume" }>;

const refuse = (why: string): never => {
  throw new AwakenError("invalid_resume", `invalid resume: ${why}`);
};

function checkThread(run: RunRecord, threadId: ThreadId, role: string): RunRecord {
  if (run.threadId === threadId) return run;
  return refuse(`${role} '${run.runId}' belongs to thread '${run.threadId}' but activation targets thread '${threadId}'`);
}

/** The run that is to go on. */
export async function namedRun(records: RunRecords, { threadId, found }: RunOrder, { runId, seen }: ResumeIntent): Promise<RunRecord> {
  const run = found === undefined ? await records.runs.load(runId) : found.run;
  // Also when it was deleted since: whoever looks again finds that it is not there.
  if (seen !== undefined && !sameJson(run, seen)) throw takenUp(seen);
  if (run === undefined) return refuse(`continue_run_id '${runId}' does not reference an existing run`);
  return checkThread(run, threadId, "continue_run_id").status === "done" ? refuse(`run '${runId}' is done`) : run;
}

/** The run must be as it was when the thread was read: what the thread says of its calls is of that moment. */
export async function checkStands(records: RunRecords, head: ThreadHead | undefined, named: RunRecord): Promise<void> {
  const seen = [head?.openRun, head?.latestRun].find((run) => run?.runId === named.runId) ?? (await records.runs.load(named.runId));
  if (seen === undefined || !sameJson(seen, named)) throw takenUp(named);
}

/** The record of a run that was created before it begins. */
export async function hintedRun(
  records: RunRecords,
  threadId: ThreadId,
  runId: RunId,
  created: RunRecord | undefined,
): Promise<RunRecord | undefined> {
  const run = created ?? (await records.runs.load(runId));
  if (run === undefined) return undefined;
  return run.status === "created" ? checkThread(run, threadId, "run_id_hint") : refuse(`run_id_hint '${runId}' already exists as a run`);
}

export async function checkParent(records: RunRecords, id: ThreadId): Promise<void> {
  if ((await records.threads.load(id)) !== undefined) return;
  throw new AwakenError("thread_not_found", `parent thread not found: ${id}`, { details: { threadId: id } });
}

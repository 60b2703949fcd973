import { AwakenError, type RunRecord, threadId, runId as toRunId } from "@awaken/contract";
import { endOrder } from "../loop/resume-order.ts";
import type { ActiveRun } from "./active-runs.ts";
import { beginRun } from "./begin-run.ts";
import { stop } from "./control.ts";
import type { RunParts } from "./run-parts.ts";

/** The run that waits under this run id or thread id. */
async function waitingRun(parts: RunParts, id: string): Promise<RunRecord | undefined> {
  const byRun = await parts.records.runs.load(toRunId(id));
  const onThread = (await parts.records.threads.loadHead(threadId(id)))?.openRun;
  const found = [byRun, onThread].filter((run) => run?.status === "waiting");
  return found.length > 1 && found[0]?.runId !== found[1]?.runId ? undefined : found[0];
}

/** What `stop` comes to when nobody executes such a run here. */
export async function stopWaiting(parts: RunParts, id: string): Promise<ActiveRun | undefined> {
  const waiting = await waitingRun(parts, id);
  if (waiting === undefined) return undefined;
  // Somebody may have taken it up meanwhile.
  if (parts.active.byRun(waiting.runId) !== undefined || parts.active.find(id).type !== "none") return stop(parts, id);
  try {
    const { run, begun } = beginRun(parts, endOrder(waiting));
    run.cancel();
    await begun;
    return run;
  } catch (thrown) {
    if (!AwakenError.is(thrown) || thrown.code !== "thread_already_running" || (await isAtWork(parts, waiting))) throw thrown;
    return undefined;
  }
}

/** Whether it goes on in another process, where nobody can be told: a queue brings him word. It may also be over, or deleted. */
async function isAtWork({ records, holds }: RunParts, { runId }: RunRecord): Promise<boolean> {
  const now = holds === undefined ? await records.runs.load(runId) : undefined;
  return now !== undefined && now.status !== "done";
}

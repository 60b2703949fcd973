import type { RunId, RunProjection, RunRecord, ThreadId } from "@awaken/contract";
import type { PendingRecord } from "@awaken/contract/store";
import { isNews } from "../loop/task-news.ts";
import { endRecord } from "./end-record.ts";
import type { Ports } from "./in-one.ts";

export interface Superseded {
  readonly count: number;
  readonly ended: readonly RunProjection[];
}

/**
 * The epoch of the thread rises, and what is queued there is void: runs that nobody began are cancelled, with their messages. Where
 * somebody comes instead, what was sent to whoever comes next stays for him, and so does a run that waits or was cut off; else all of that is
 * over too. Gives the number of dispatches, and the runs that ended.
 */
export async function supersede(ports: Ports, threadId: ThreadId, messages: "stay" | "are-taken-back", at: number): Promise<Superseded> {
  const { superseded } = await ports.dispatches.interrupt(threadId);
  const runs = await loadAll(ports, new Set(superseded.map(({ runId }) => runId)));
  const over = runs.filter(({ status }) => status === "created" || (messages === "are-taken-back" && status !== "done"));
  const waiting = await waitingRun(ports, threadId);
  const { entries } = await ports.pending.load(threadId);
  for (const entry of entries) {
    const target = entry.deliveryMode.targetRunId;
    const isOwn = over.some(({ runId }) => runId === target);
    if (isOwn || (messages === "are-taken-back" && isForNext(entry, waiting))) {
      await ports.pending.retract(threadId, entry.pendingId, entry.revision);
    }
  }
  const commits = over.map((run) => endRecord(run, { type: "cancelled" }, at));
  for (const commit of commits) await ports.commit(commit);
  return { count: superseded.length, ended: commits.map(({ run }) => run) };
}

async function loadAll(ports: Ports, ids: ReadonlySet<RunId>): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = [];
  for (const id of ids) {
    const run = await ports.runs.load(id);
    if (run !== undefined) runs.push(run);
  }
  return runs;
}

async function waitingRun(ports: Ports, threadId: ThreadId): Promise<RunId | undefined> {
  const id = (await ports.threads.load(threadId))?.openRunId;
  const run = id === undefined ? undefined : await ports.runs.load(id);
  return run?.status === "waiting" ? run.runId : undefined;
}

/** Whether somebody sent it, the next run of the thread would read it, and no other one waits to do so. */
function isForNext(entry: PendingRecord, waiting: RunId | undefined): boolean {
  const { targetRunId: target, fallbackToNewRun } = entry.deliveryMode;
  if (isNews(entry)) return false;
  return target === undefined || (target !== waiting && fallbackToNewRun);
}

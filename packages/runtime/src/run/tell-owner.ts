import type { RunIdentity } from "@awaken/contract";
import type { RunParts } from "./run-parts.ts";
import { endOfTask } from "./task-news.ts";

/** Where nothing rides in commits, the thread that a task belongs to is told of its end when that is on record. */
export async function tellOwner({ records, tasks }: RunParts, { runId, parentThreadId }: RunIdentity): Promise<void> {
  const run = await records.runs.load(runId);
  const event = run?.status === "done" ? endOfTask(run) : undefined;
  if (event !== undefined && parentThreadId !== undefined) tasks.tell(parentThreadId, event);
}

import { type RunRecord, runId, type ScopedStore, type ThreadRecord, threadId } from "@awaken/contract";
import { CliError } from "./cli-error.ts";

export type FoundRecord = { readonly type: "thread"; readonly thread: ThreadRecord } | { readonly type: "run"; readonly run: RunRecord };

/** The thread of this id, else the run of this id. */
export async function findRecord(store: ScopedStore, id: string): Promise<FoundRecord> {
  const thread = await store.threads.load(threadId(id));
  if (thread !== undefined) return { type: "thread", thread };
  const run = await store.runs.load(runId(id));
  if (run !== undefined) return { type: "run", run };
  throw new CliError("thread_not_found", `there is no thread and no run '${id}' here`, "`awaken threads` and `awaken runs` list them");
}

/** The run of this id, or the one that the thread of this id has open. */
export async function findOpenRun(store: ScopedStore, id: string): Promise<RunRecord> {
  const found = await findRecord(store, id);
  if (found.type === "run") return found.run;
  const { openRunId } = found.thread;
  const run = openRunId === undefined ? undefined : await store.runs.load(openRunId);
  if (run !== undefined) return run;
  throw new CliError("run_not_found", `thread '${id}' has no open run`, `\`awaken runs --thread ${id}\` lists those that are done`);
}

import { type RunRecord, type RunStatus, runId, threadId } from "@awaken/contract";
import type { RunPosition, ScopedStore, ThreadRecord } from "@awaken/contract/store";
import { CliError } from "./cli-error.ts";
import { quoted } from "./command-name.ts";
import { shortRun, shortThread } from "./short-id.ts";

export type FoundRecord = { readonly type: "thread"; readonly thread: ThreadRecord } | { readonly type: "run"; readonly run: RunRecord };

const UNDONE: readonly RunStatus[] = ["created", "running", "waiting"];
const PAGE = 200;

/** The thread of this id, else the run of this id; a part of it is enough when only one has it. */
export async function findRecord(store: ScopedStore, given: string): Promise<FoundRecord> {
  const exact = await loadRecord(store, given);
  if (exact !== undefined) return exact;
  const found = (await loadRecord(store, await shortThread(store, given))) ?? (await loadRecord(store, await shortRun(store, given)));
  if (found !== undefined) return found;
  throw new CliError("thread_not_found", `there is no thread and no run '${given}' here`, "`awaken threads` and `awaken runs` list them");
}

async function loadRecord(store: ScopedStore, id: string): Promise<FoundRecord | undefined> {
  const thread = await store.threads.load(threadId(id));
  if (thread !== undefined) return { type: "thread", thread };
  const run = await store.runs.load(runId(id));
  return run === undefined ? undefined : { type: "run", run };
}

/** A thread can lose sight of a run: two processes wrote at once, and the one that it points to is done. */
async function newestUndone({ runs }: ScopedStore, thread: ThreadRecord): Promise<RunRecord | undefined> {
  let newest: RunRecord | undefined;
  let after: RunPosition | undefined;
  do {
    const page = await runs.list({ threadId: thread.id, statuses: UNDONE, limit: PAGE, ...(after === undefined ? {} : { after }) });
    newest = page.items.at(-1) ?? newest;
    after = page.next;
  } while (after !== undefined);
  return newest;
}

/** The run of this id, or the one that the thread of this id has open, or its newest one that is not done. */
export async function findOpenRun(store: ScopedStore, id: string): Promise<RunRecord> {
  const found = await findRecord(store, id);
  if (found.type === "run") return found.run;
  const { openRunId } = found.thread;
  const open = openRunId === undefined ? undefined : await store.runs.load(openRunId);
  const run = open ?? (await newestUndone(store, found.thread));
  if (run !== undefined) return run;
  throw new CliError("run_not_found", `thread '${id}' has no open run`, `\`awaken runs --thread ${quoted(id)}\` lists those that are done`);
}

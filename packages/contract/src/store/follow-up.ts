import { dispatchId, type RunId, runId } from "../ids.ts";
import type { ThreadCommit } from "./commit.ts";
import type { NewDispatch } from "./dispatch-transitions.ts";
import { type PendingRecord, selectPending } from "./pending.ts";
import { resumeKey } from "./wishes.ts";

/** What is left over when a commit is through. */
export interface Leftovers {
  /** Wishes of the run that nobody took. */
  readonly openWishes: readonly string[];
  /** Messages of the thread that nobody read. */
  readonly pending: readonly PendingRecord[];
  readonly ids: () => string;
}

/**
 * The dispatch that a store enqueues in the transaction of a commit, so that nothing waits for nobody: for a run that parks while wishes
 * of it are open, that run again; for one that ends while messages wait that a new run would take, a new run. Undefined when the commit
 * itself enqueues. Not enqueued while an open dispatch has its key, nor, for a new run, while any is queued.
 */
export function followUp({ run, threadId, dispatch }: ThreadCommit, { openWishes, pending, ids }: Leftovers): NewDispatch | undefined {
  if (run === undefined || dispatch?.type === "enqueue" || dispatch?.type === "enqueue-claimed") return undefined;
  const next = (runId: RunId): NewDispatch => ({ dispatchId: dispatchId(ids()), threadId, runId, dedupeKey: resumeKey(run.runId) });
  if (run.status === "waiting") return openWishes.length > 0 ? next(run.runId) : undefined;
  if (run.status !== "done" || pending.length === 0) return undefined;
  const newRun = runId(ids());
  return selectPending(pending, "new-run", newRun).length > 0 ? next(newRun) : undefined;
}

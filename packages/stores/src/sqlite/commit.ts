import { type CommitResult, type CommitThread, checkCommit, type ThreadCommit } from "@awaken/contract";
import { type CommitReads, planCommit } from "../sql/commit-plan.ts";
import type { Access } from "./access.ts";
import type { Tx } from "./database.ts";
import { loadDispatch, queueReads, writeDispatch } from "./dispatch-rows.ts";
import { eventReads, writeEvents } from "./events.ts";
import { loadEffect, writeLedger } from "./ledger.ts";
import { insertMessages, loadCommitted } from "./messages.ts";
import { loadPending, writePending } from "./pending.ts";
import { loadRun, writeRun } from "./runs.ts";
import { dropCheckpoint } from "./stream-checkpoints.ts";
import { loadLineage, loadThreadRow, writeThreadRow } from "./threads.ts";

export const commitPort =
  (access: Access): CommitThread =>
  async (commit) => {
    checkCommit(commit);
    return access.session.write((tx) => commitThread(tx, access, commit));
  };

function readsOf(tx: Tx, { scopeId, written }: Access, { threadId, runId }: ThreadCommit): CommitReads {
  return {
    ...queueReads(tx, scopeId, threadId),
    thread: () => loadThreadRow(tx, scopeId, threadId, written.threads),
    run: () => loadRun(tx, scopeId, runId, written.runs),
    lineage: (id) => loadLineage(tx, scopeId, id),
    dispatch: (id) => loadDispatch(tx, scopeId, id),
    pending: () => loadPending(tx, scopeId, threadId),
    committed: (ids) => loadCommitted(tx, scopeId, threadId, ids),
    ledger: (key) => loadEffect(tx, scopeId, key),
    events: eventReads(tx, scopeId),
  };
}

function commitThread(tx: Tx, access: Access, commit: ThreadCommit): CommitResult {
  const { scopeId, env, written } = access;
  const { threadId, runId, threadState, landedStep } = commit;
  const plan = planCommit(commit, readsOf(tx, access, commit), env);
  const { thread, messages, run, ledger, pending, dispatch, events } = plan;

  insertMessages(tx, scopeId, messages, env.blobBytes);
  const text = writeThreadRow(tx, scopeId, thread.before, thread.after, threadState);
  written.threads.put(scopeId, threadId, text, thread.after.record);
  if (run !== undefined) writeRun(tx, access, run.before, run.after);
  writeLedger(tx, scopeId, ledger, env.blobBytes);
  writePending(tx, access, { threadId, ...pending });
  if (dispatch !== undefined) writeDispatch(tx, access, dispatch.after);
  writeEvents(tx, access, events);
  if (landedStep !== undefined) dropCheckpoint(tx, scopeId, runId, landedStep);

  return {
    messageCount: thread.after.messageCount,
    events: events.events,
    ...(run && { run: run.after }),
    ...(dispatch && { dispatch: dispatch.after }),
  };
}

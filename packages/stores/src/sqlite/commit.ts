import { type CommitResult, type CommitThread, checkCommit, type ThreadCommit } from "@awaken/contract/store";
import type { OutboundPlan } from "../plan/outbound-plan.ts";
import { planRows, type RowReads, type ThreadRow } from "../sql/commit-plan.ts";
import { readThreadRow, THREAD_ROW } from "../sql/thread-row.ts";
import type { Access } from "./access.ts";
import { keeping, type Tx } from "./database.ts";
import { heldDispatch, queueReads, writeDispatch } from "./dispatch-rows.ts";
import { eventReads, writeEvents } from "./events.ts";
import { loadEffect, writeLedger } from "./ledger.ts";
import { insertMessages, loadCommitted } from "./messages.ts";
import { loadPending, writePending } from "./pending.ts";
import { loadRun, writeRun } from "./runs.ts";
import { dropCheckpoint } from "./stream-checkpoints.ts";
import { loadLineage, writeThreadRow } from "./threads.ts";
import { loadOpenWishes, takeWishes } from "./wishes.ts";

export const commitPort =
  (access: Access): CommitThread =>
  async (commit) => {
    checkCommit(commit);
    return access.session.write(keeping((tx) => commitThread(tx, access, commit)));
  };

/** The thread, and whether it is claimed and its run has wishes: one statement, since every commit asks. */
const SELECT_BASE = `SELECT ${THREAD_ROW},
  EXISTS (SELECT 1 FROM dispatch WHERE scope_id = ?1 AND thread_id = ?2 AND status = 'claimed') AS has_claim,
  EXISTS (SELECT 1 FROM wish WHERE scope_id = ?1 AND run_id = ?3 AND taken_at IS NULL) AS has_wishes
  FROM thread WHERE scope_id = ?1 AND thread_id = ?2`;

interface Base {
  readonly thread: ThreadRow | undefined;
  readonly hasClaim: boolean;
  readonly hasWishes: boolean;
}

function loadBase(tx: Tx, { scopeId, written }: Access, { threadId, runId }: ThreadCommit): Base | undefined {
  const { known } = tx;
  const [thread, holder] = [known.threads.find(scopeId, threadId), known.holders.find(scopeId, threadId)];
  if (thread !== undefined && holder !== undefined && known.wishless.find(scopeId, runId)) {
    return { thread, hasClaim: holder.claim !== undefined, hasWishes: false };
  }
  const row = tx.get(SELECT_BASE, scopeId, threadId, runId);
  if (row === undefined) return undefined;
  const [hasClaim, hasWishes] = [row["has_claim"] === 1, row["has_wishes"] === 1];
  if (!hasClaim) known.holders.put(scopeId, threadId, { claim: undefined });
  if (!hasWishes) known.wishless.put(scopeId, runId, true);
  return { thread: readThreadRow(row, written.threads.find(scopeId, threadId, row["record"])), hasClaim, hasWishes };
}

function readsOf(tx: Tx, access: Access, commit: ThreadCommit): RowReads {
  const { scopeId, written } = access;
  const { threadId, runId } = commit;
  const base = loadBase(tx, access, commit);
  const queue = queueReads(tx, scopeId, threadId);
  return {
    ...queue,
    hasClaim: () => base?.hasClaim ?? queue.hasClaim(),
    thread: () => base?.thread,
    run: () => tx.known.runs.find(scopeId, runId) ?? loadRun(tx, scopeId, runId, written.runs),
    lineage: (id) => loadLineage(tx, scopeId, id),
    dispatch: (id) => heldDispatch(tx, scopeId, threadId, id),
    pending: () => loadPending(tx, scopeId, threadId),
    committed: (ids) => loadCommitted(tx, scopeId, threadId, ids),
    ledger: (key) => loadEffect(tx, scopeId, key),
    events: eventReads(tx, scopeId),
    outbound: {
      delivered: {
        has: (id) => tx.get("SELECT 1 FROM outbound WHERE scope_id = ? AND outbound_id = ?", scopeId, id) !== undefined,
      },
      runs: { has: (id) => tx.get("SELECT 1 FROM run WHERE scope_id = ? AND run_id = ?", scopeId, id) !== undefined },
      thread: (id) => ({
        ...queueReads(tx, scopeId, id),
        pending: () => loadPending(tx, scopeId, id),
        committed: (ids) => loadCommitted(tx, scopeId, id, ids),
      }),
    },
    openWishes: () => (base?.hasWishes === false ? [] : loadOpenWishes(tx, scopeId, runId)),
  };
}

function writeOutbound(tx: Tx, access: Access, { ids, deliveries }: OutboundPlan): void {
  const { scopeId, env } = access;
  for (const id of ids) tx.run("INSERT INTO outbound (scope_id, outbound_id, created_at) VALUES (?, ?, ?)", scopeId, id, env.clock());
  for (const { threadId, pending, dispatches } of deliveries) {
    writePending(tx, access, { threadId, added: pending, removed: [] });
    for (const dispatch of dispatches) writeDispatch(tx, access, dispatch);
  }
}

function commitThread(tx: Tx, access: Access, commit: ThreadCommit): CommitResult {
  const { scopeId, env, written } = access;
  const { threadId, runId, threadState, landedStep } = commit;
  const plan = planRows(commit, readsOf(tx, access, commit), env);
  const { thread, messages, run, ledger, pending, dispatch, events, wishes, next, outbound } = plan;

  const text = writeThreadRow(tx, scopeId, thread.before, thread.after, threadState);
  written.threads.put(scopeId, threadId, text, thread.after.record);
  tx.known.threads.put(scopeId, threadId, written.threads.find(scopeId, threadId, text) && thread.after);
  insertMessages(tx, scopeId, messages, env.blobBytes);
  if (run !== undefined) writeRun(tx, access, run.before, run.after);
  writeLedger(tx, scopeId, ledger, env.blobBytes);
  writePending(tx, access, { threadId, ...pending });
  if (dispatch !== undefined) writeDispatch(tx, access, dispatch.after, events.logs.length > 0);
  if (next !== undefined) writeDispatch(tx, access, next);
  if (plan.isFreed) tx.afterCommit(() => access.channels.hints.send({ type: "enqueued", scopeId, threadId }));
  takeWishes(tx, scopeId, wishes.taken, env.clock());
  writeOutbound(tx, access, outbound);
  writeEvents(tx, access, events);
  if (landedStep !== undefined) dropCheckpoint(tx, scopeId, runId, landedStep);

  return {
    messageCount: thread.after.messageCount,
    events: events.events,
    hasWishes: wishes.open.length > 0,
    hasPending: plan.hasPending,
    ...(run && { run: run.after }),
    ...(dispatch && { dispatch: dispatch.after }),
    ...(next && { next }),
  };
}

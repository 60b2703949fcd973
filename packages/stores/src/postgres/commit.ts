import type { ScopeId } from "@awaken/contract";
import { type CommitResult, type CommitThread, checkCommit, type ThreadCommit } from "@awaken/contract/store";
import type { OutboundPlan } from "../plan/outbound-plan.ts";
import { planRows, type RowPlan } from "../sql/commit-plan.ts";
import type { Access } from "./access.ts";
import { type LoadedCommit, loadForCommit } from "./commit-reads.ts";
import { insertDispatch, moveDispatches, tellQueued } from "./dispatch-rows.ts";
import { tellOf, writeEvents } from "./events.ts";
import { insertRows } from "./insert-rows.ts";
import { writeLedger } from "./ledger.ts";
import { insertMessages } from "./messages.ts";
import { writePending } from "./pending.ts";
import { writeRun } from "./runs.ts";
import type { Statement } from "./statement.ts";
import { dropCheckpoint } from "./stream-checkpoints.ts";
import { writeThreadRow } from "./threads.ts";
import { takeWishes } from "./wishes.ts";

/** Two round trips: one locks and reads all that the plan asks, one writes and commits. */
export const commitPort =
  (access: Access): CommitThread =>
  async (commit) => {
    checkCommit(commit);
    return access.session.write(async (tx) => {
      const { reads, lastPlace } = await loadForCommit(tx, access, commit);
      const plan = planRows(commit, reads, access.env);
      return { writes: writesOf(access, commit, plan, lastPlace), result: resultOf(plan), tell: tellAll(access, plan) };
    });
  };

function writesOf(access: Access, commit: ThreadCommit, plan: RowPlan, lastPlace: LoadedCommit["lastPlace"]): readonly Statement[] {
  const { scopeId, env, written } = access;
  const { threadId, runId, threadState, landedStep } = commit;
  const { thread, messages, run, ledger, pending, dispatch, events, wishes, next } = plan;
  return access.merger.together([
    ...insertMessages(scopeId, messages, env.blobBytes),
    writeThreadRow(scopeId, thread.before, thread.after, threadState, written.threads),
    ...(run === undefined ? [] : writeRun(access, run.before, run.after)),
    ...writeLedger(scopeId, ledger, env.blobBytes),
    ...writePending(access, { threadId, ...pending, lastPlace: lastPlace(threadId) }),
    ...writeOutbound(access, plan.outbound, lastPlace),
    ...writeDispatches(scopeId, dispatch, next),
    ...(wishes.taken.length === 0 ? [] : [takeWishes(scopeId, wishes.taken, env.clock())]),
    ...writeEvents(access, events),
    ...(landedStep === undefined ? [] : [dropCheckpoint(scopeId, runId, landedStep)]),
  ]);
}

function writeOutbound(access: Access, { ids, deliveries }: OutboundPlan, lastPlace: LoadedCommit["lastPlace"]): readonly Statement[] {
  const { scopeId, env } = access;
  const now = env.clock();
  return [
    ...insertRows(
      scopeId,
      { table: "outbound", columns: "outbound_id, created_at" },
      ids.map((id) => [id, now]),
    ),
    ...deliveries.flatMap(({ threadId, pending, dispatches }) => [
      ...writePending(access, { threadId, added: pending, removed: [], lastPlace: lastPlace(threadId) }),
      ...dispatches.flatMap((dispatch) => insertDispatch(scopeId, dispatch)),
    ]),
  ];
}

/** The next one may have the key that the settled one gives back: then they are written one after the other. */
function writeDispatches(scopeId: ScopeId, dispatch: RowPlan["dispatch"], next: RowPlan["next"]): readonly Statement[] {
  const own = dispatch === undefined ? [] : writeDispatch(scopeId, dispatch);
  return next === undefined ? own : [...own, ...insertDispatch(scopeId, next)].map((statement) => ({ ...statement, isAlone: true }));
}

const writeDispatch = (scopeId: ScopeId, { before, after }: NonNullable<RowPlan["dispatch"]>): readonly Statement[] =>
  before === undefined ? insertDispatch(scopeId, after) : moveDispatches(scopeId, [after]);

const resultOf = ({ thread, run, hasPending, dispatch, events, wishes, next }: RowPlan): CommitResult => ({
  messageCount: thread.after.messageCount,
  events: events.events,
  hasWishes: wishes.open.length > 0,
  hasPending,
  ...(next && { next }),
  ...(run && { run: run.after }),
  ...(dispatch && { dispatch: dispatch.after }),
});

function tellAll(access: Access, { dispatch, events, next, outbound, isFreed, thread }: RowPlan): () => void {
  const { scopeId, wire } = access;
  const tellEvents = tellOf(access, events);
  const posted = outbound.deliveries.flatMap(({ dispatches }) => dispatches);
  if (dispatch === undefined && next === undefined && posted.length === 0) return tellEvents;
  const tellDispatch = tellQueued(access, [...(dispatch ? [dispatch.after] : []), ...(next ? [next] : []), ...posted]);
  return () => {
    tellEvents();
    tellDispatch();
    if (isFreed) wire.hint({ type: "enqueued", scopeId, threadId: thread.after.record.id });
  };
}

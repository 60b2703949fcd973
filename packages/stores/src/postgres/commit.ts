import type { ScopeId } from "@awaken/contract";
import { type CommitResult, type CommitThread, checkCommit, isDispatchOver, type ThreadCommit } from "@awaken/contract/store";
import type { OutboundPlan } from "../plan/outbound-plan.ts";
import { planRows, type RowPlan } from "../sql/commit-plan.ts";
import type { Access } from "./access.ts";
import type { Finish, Tx } from "./attempt.ts";
import { type LoadedCommit, loadForCommit } from "./commit-reads.ts";
import { insertDispatch, lockKnownDispatch, moveDispatches, moveKnownDispatch, tellDispatches } from "./dispatch-rows.ts";
import { isCancelled, isMissing } from "./errors.ts";
import { tellOf, writeEvents } from "./events.ts";
import { insertRows } from "./insert-rows.ts";
import { canGuess, type GuessedCommit, guessCommit } from "./known-commit.ts";
import { writeLedger } from "./ledger.ts";
import { tryLockThread } from "./locks.ts";
import { insertMessages } from "./messages.ts";
import { writePending } from "./pending.ts";
import { writeRun } from "./runs.ts";
import type { Statement } from "./statement.ts";
import { dropCheckpoint } from "./stream-checkpoints.ts";
import { writeKnownThread, writeThreadRow } from "./threads.ts";
import { takeWishes } from "./wishes.ts";

/**
 * One round trip when this process wrote the thread last: then it is planned from memory, and the rows judge it. Else two: one locks and
 * reads all that the plan asks, one writes and commits.
 */
export const commitPort =
  (access: Access): CommitThread =>
  async (commit) => {
    checkCommit(commit);
    const thread = { scopeId: access.scopeId, threadId: commit.threadId };
    let isFirst = true;
    const work = async (tx: Tx): Promise<Finish<CommitResult>> => {
      const guess = isFirst ? guessFinish(access, commit) : undefined;
      isFirst = false;
      if (guess !== undefined) return { ...guess, writes: [tryLockThread(thread), ...guess.writes] };
      const { reads, lastPlace } = await loadForCommit(tx, access, commit);
      const plan = planRows(commit, reads, access.env);
      return { ...finishOf(access, commit, { plan, reads }), writes: writesOf(access, commit, plan, lastPlace) };
    };
    return access.session.write(work, {
      ...thread,
      canPlan: () => canGuess(access, commit),
      plan: () => guessFinish(access, commit),
    });
  };

/** Without the lock. */
function guessFinish(access: Access, commit: ThreadCommit): Finish<CommitResult> | undefined {
  const guess = guessCommit(access, commit);
  if (guess === undefined) return undefined;
  const writes = writesOf(access, commit, guess.plan, () => 0, guess);
  // Large parts are written by statements of their own, which nothing would take back if there were no transaction.
  if (writes.length !== 1) return undefined;
  const isWorthReading = (thrown: unknown): boolean => {
    if (isMissing(thrown)) access.known?.giveUp();
    return !isCancelled(thrown);
  };
  return { ...finishOf(access, commit, guess), writes, isWorthReading };
}

function finishOf(access: Access, commit: ThreadCommit, planned: Pick<GuessedCommit, "plan" | "reads"> & Partial<GuessedCommit>) {
  const tellOthers = tellAll(access, planned.plan);
  const tell = () => {
    access.known?.landed(access.scopeId, commit, planned);
    tellOthers();
  };
  return { result: resultOf(planned.plan), tell };
}

/** Of a commit that was guessed, only if the rows are as they are known. */
function writesOf(
  access: Access,
  commit: ThreadCommit,
  plan: RowPlan,
  lastPlace: LoadedCommit["lastPlace"],
  guess?: GuessedCommit,
): readonly Statement[] {
  const { scopeId, env, written } = access;
  const { threadId, runId, threadState, landedStep } = commit;
  const { thread, messages, run, ledger, pending, dispatch, events, wishes, next } = plan;
  return access.merger.together([
    ...insertMessages(scopeId, messages, env.blobBytes),
    guess?.known.thread === undefined
      ? writeThreadRow(scopeId, thread.before, thread.after, threadState, written.threads)
      : writeKnownThread(scopeId, { before: guess.known.thread, after: thread.after, state: threadState, written: written.threads }),
    ...(run === undefined ? [] : writeRun(access, run.before, run.after, guess !== undefined)),
    ...writeLedger(scopeId, ledger, env.blobBytes, guess?.known.effects),
    ...writePending(access, { threadId, ...pending, lastPlace: lastPlace(threadId) }),
    ...writeOutbound(access, plan.outbound, lastPlace),
    ...(guess === undefined ? writeDispatches(scopeId, dispatch, next) : writeKnownDispatch(scopeId, commit, guess)),
    ...(wishes.taken.length === 0 ? [] : [takeWishes(scopeId, wishes.taken, env.clock())]),
    ...writeEvents(access, events),
    ...(landedStep === undefined ? [] : [dropCheckpoint(scopeId, runId, landedStep)]),
    ...(guess === undefined ? [] : [guess.guard]),
  ]);
}

function writeKnownDispatch(scopeId: ScopeId, { fence }: ThreadCommit, { known, plan: { dispatch } }: GuessedCommit): readonly Statement[] {
  if (dispatch !== undefined && dispatch.before === undefined) return insertDispatch(scopeId, dispatch.after);
  if (fence === undefined || known.dispatch === undefined) return [];
  return [dispatch === undefined ? lockKnownDispatch(scopeId, known.dispatch) : moveKnownDispatch(scopeId, known.dispatch, dispatch.after)];
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
  // Events ring for the run too.
  const own = dispatch === undefined || (isDispatchOver(dispatch.after) && events.logs.length > 0) ? [] : [dispatch.after];
  const tellDispatch = tellDispatches(access, [...own, ...(next ? [next] : []), ...posted]);
  return () => {
    tellEvents();
    tellDispatch();
    if (isFreed) wire.hint({ type: "enqueued", scopeId, threadId: thread.after.record.id });
  };
}

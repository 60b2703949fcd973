import { AwakenError, errorMessage } from "@awaken/contract";
import { type Claim, type ClaimedDispatch, MAX_COMMIT_ATTEMPTS } from "@awaken/contract/store";
import { isLost as isTaskLost } from "../builtin/background/tenant-work.ts";
import { isLeft, type LeftRun } from "../loop/finish.ts";
import type { RunOrder } from "../loop/run-order.ts";
import { startRun } from "../run/start-run.ts";
import { keyIn } from "../stream/scope-key.ts";
import { sleep } from "../stream/sleep.ts";
import { type Failure, judgeFailure } from "./attempts.ts";
import { type Executor, type Fate, fenceOf } from "./executor.ts";
import { Hold, type Opening } from "./hold.ts";
import { batchesOf } from "./open-wishes.ts";
import { type DispatchPlan, lookAgain, type PlanScene, planDispatch } from "./plan-dispatch.ts";
import { isRefusal } from "./refusals.ts";
import { settleFailure } from "./settle-failure.ts";
import { BLOCKED_MS, dropMessages, endUnbegun, moveAside, moveMessages, passOn, settleNothing, voidBarrier } from "./settle-plan.ts";

/** Never rejects. */
export async function executeDispatch(executor: Executor, claim: Claim, askedAt: number): Promise<Fate> {
  const { dispatch: claimed } = claim;
  try {
    return await followPlan(executor, claim, askedAt);
  } catch (thrown) {
    const { aborted: isClosing } = executor.parts.closing;
    const failure: Failure = isClosing ? { type: "hand-over" } : judgeFailure(thrown);
    try {
      await settleFailure(executor, claimed, failure);
    } catch (failed) {
      // Its lease ends by itself.
      if (judgeFailure(failed).type !== "lost")
        executor.log.warn(`a dispatch could not be settled: ${errorMessage(failed)}`, { dispatchId: claimed.dispatchId });
    }
    return failure.type === "release" ? "left" : "settled";
  }
}

/** Somebody changed what is or waits on the thread before the run had it on record: then it is looked at again. */
const OVERTAKEN: ReadonlySet<string> = new Set(["pending_selection_conflict", "already_consumed", "message_version_conflict"]);

async function followPlan(executor: Executor, { dispatch: claimed, records: found }: Claim, askedAt: number): Promise<Fate> {
  const { queue, ask } = executor;
  const isLost: PlanScene["isLost"] = (task) => isTaskLost(executor.parts.tasks, task);
  const isUnknown: PlanScene["isUnknown"] = (id) => executor.unknowns.has(keyIn(queue.scopeId, id));
  if (AwakenError.is(found)) throw found;
  for (let tries = 1, records = found; ; tries++, records = await lookAgain(claimed, queue, ask)) {
    const plan = await planDispatch({ tenant: queue, ask, claimed, records, askedAt, isLost, isUnknown });
    try {
      if (plan.type === "run") {
        await runOrder(executor, plan.order, plan.opening, plan.isCancelled);
        executor.unknowns.forget(keyIn(queue.scopeId, claimed.dispatchId));
      } else if (plan.type === "nothing") await settleNothing(executor, claimed, plan);
      else if (plan.type === "taken-back") await endUnbegun(executor, claimed, plan.run, plan.next);
      else if (plan.type === "too-late") await moveMessages(executor, claimed, plan.messages);
      else if (plan.type === "for-nobody") await dropMessages(executor, claimed, plan.messages);
      else if (plan.type === "for-another") await passOn(executor, claimed, plan);
      else if (plan.type === "behind") return await giveWay(executor, claimed, plan);
      else if (plan.type === "blocked") await ask("put a dispatch back", queue.dispatches.release(fenceOf(claimed), BLOCKED_MS));
      else if (plan.type === "void-barrier") {
        await voidBarrier(executor, plan.barrier);
        continue;
      } else if (plan.type === "void-front") {
        await moveAside(executor, claimed.threadId, plan.messages);
        continue;
      } else await settleFailure(executor, claimed, { type: "dead-letter", error: plan.error });
      return "settled";
    } catch (thrown) {
      if (!AwakenError.is(thrown) || !OVERTAKEN.has(thrown.code) || tries === MAX_COMMIT_ATTEMPTS) throw thrown;
    }
  }
}

type Behind = Extract<DispatchPlan, { type: "behind" }>;

/** Longer than it takes to claim a dispatch. */
const READY_MS = 20;

/** Puts the dispatch back and executes the one that comes first; while that one is neither due nor ready, both wait. */
async function giveWay(executor: Executor, claimed: ClaimedDispatch, { first, isReady }: Behind): Promise<Fate> {
  const { queue, ask, holdInit, log } = executor;
  const { consumer, leaseMs } = holdInit;
  const untilDue = Math.max(0, first.availableAt - (claimed.leaseUntil - leaseMs));
  // A store gives what is due: others would take this one once more before the one that is ready can be had.
  await ask("put a dispatch back", queue.dispatches.release(fenceOf(claimed), isReady ? READY_MS : untilDue));
  if (untilDue > 0 && !isReady) return "settled";
  const askedAt = executor.clock.now();
  const asked = queue.dispatches.claimDispatch(first.dispatchId, { consumer, leaseMs });
  try {
    const next = await ask("claim a dispatch", asked);
    return next === undefined ? "settled" : await executeDispatch(executor, next, askedAt);
  } catch (thrown) {
    log.warn(`a dispatch could not be claimed: ${errorMessage(thrown)}`, { dispatchId: first.dispatchId });
    // The answer may still come, to nobody.
    void asked.then((late) => late && queue.dispatches.release(late.dispatch)).catch(() => {});
    return "unanswered";
  }
}

/** Decisions that do not fit are left out, one after the other: they must not keep those that do from being followed. */
async function runOrder(executor: Executor, order: RunOrder, opening: Opening, isCancelled: boolean): Promise<void> {
  const { intent } = order;
  const decisions = intent.type === "resume" ? intent.decisions : [];
  try {
    await runOnce(executor, order, opening, isCancelled);
  } catch (thrown) {
    if (intent.type !== "resume" || decisions.length === 0 || !isRefusal(thrown)) throw thrown;
    const refused = refusedOnes(thrown, opening);
    const kept = decisions.length === 1 ? [] : decisions.filter(({ decision }) => !refused.includes(decision.id));
    await refuse(
      executor,
      opening,
      decisions.filter((each) => !kept.includes(each)).map(({ decision }) => decision.id),
      thrown,
    );
    const wishes = opening.wishes.filter(({ wishId }) => kept.some(({ decision }) => decision.id === wishId));
    // What was found has changed with the refusal.
    const again: RunOrder = { ...order, intent: { ...intent, decisions: kept }, found: undefined };
    await runOrder(executor, again, { ...opening, wishes }, isCancelled);
  }
}

/** Which decision it was, as far as the error says, and those that were made with it; else the oldest. */
function refusedOnes({ details }: AwakenError, { wishes }: Opening): readonly string[] {
  const batches = batchesOf(wishes);
  const isNamed = ({ ticketId }: { readonly ticketId: string }) => ticketId === details["target"] || ticketId === details["ticketId"];
  const refused = batches.find((batch) => batch.some(isNamed)) ?? batches[0] ?? [];
  return refused.map(({ wishId }) => wishId);
}

async function refuse({ queue, ask, log }: Executor, { claimed }: Opening, takes: readonly string[], why: AwakenError): Promise<void> {
  const { threadId, runId: id } = claimed;
  log.warn(`a decision was refused: ${why.message}`, { runId: id, code: why.code });
  await ask("refuse a decision", queue.commit({ threadId, runId: id, takes, fence: fenceOf(claimed) }));
}

async function runOnce(executor: Executor, order: RunOrder, opening: Opening, isCancelled: boolean): Promise<void> {
  const { clock, watchers } = executor;
  const { active } = executor.parts;
  // Somebody here has begun on the thread, and finds out that it is taken.
  for (let other = active.onThread(order.threadId); other !== undefined; other = active.onThread(order.threadId)) await other.released;
  const hold = new Hold(executor.holdInit, opening);
  const startedAt = clock.now();
  let isSettled = false;
  try {
    const { run, result } = startRun(executor.parts, { ...order, holding: hold, retry: retryOf(opening.claimed) });
    if (isCancelled) run.cancel();
    const outcome = await result;
    isSettled = !isLeft(outcome);
    if (!isLeft(outcome)) return;
    for (let tries = 1; hold.isCancelled; tries++) {
      const isKept = await keepCancel(executor, opening.claimed).then(
        () => true,
        () => tries === MAX_KEEPS,
      );
      if (isKept) break;
      await sleep(clock, KEEP_AGAIN_MS, executor.parts.closing);
    }
    await settleFailure(executor, opening.claimed, whyLeft(outcome));
  } finally {
    hold.settle();
    watchers.dispatched(opening.claimed, { startedAt, endedAt: clock.now(), isSettled });
  }
}

/** Failures so far; a run that was handed over has none of them. */
const retryOf = ({ attemptCount: attempt, lastError }: ClaimedDispatch): RunOrder["retry"] =>
  attempt === 0 ? undefined : { attempt, reason: lastError ?? "it did not come to its end" };

function whyLeft({ failure }: LeftRun): Failure {
  if (failure === undefined) return { type: "hand-over" };
  return failure.code === "fence_lost"
    ? { type: "lost" }
    : { type: "retry", error: failure.message, minDelayMs: failure.retryAfterMs ?? 0 };
}

/** The store that failed the run may fail this too, for a while. */
const MAX_KEEPS = 10;
const KEEP_AGAIN_MS = 1_000;

/** A run that was told to stop here, and could not put that on record, is told so wherever it goes on. */
export async function keepCancel({ queue, ask }: Executor, { threadId, runId: id }: ClaimedDispatch): Promise<void> {
  await ask("put a wish on record", queue.wishes.append({ type: "cancel", wishId: `cancel:${id}`, threadId, runId: id }));
}

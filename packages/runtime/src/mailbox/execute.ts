import { AwakenError, dispatchId, errorMessage, type Log, type RunId, type RunRecord, runId } from "@awaken/contract";
import {
  type Claim,
  type ClaimedDispatch,
  type Fence,
  MAX_COMMIT_ATTEMPTS,
  type PendingRecord,
  type QueuedDispatch,
} from "@awaken/contract/store";
import { isLeft, type LeftRun } from "../loop/finish.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { RunParts } from "../run/run-parts.ts";
import { startRun } from "../run/start-run.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import { sleep } from "../stream/sleep.ts";
import {
  type Failure,
  isUnreadable,
  judgeFailure,
  retryDelayMs,
  UNKNOWN_AGENT_DELAY_MS,
  UNKNOWN_AGENT_MS,
  type Unknowns,
} from "./attempts.ts";
import { endRecord } from "./end-record.ts";
import { Hold, type HoldInit, type Opening } from "./hold.ts";
import { lateWake } from "./late-wake.ts";
import { batchesOf } from "./open-wishes.ts";
import { type DispatchPlan, lookAgain, type PlanScene, planDispatch } from "./plan-dispatch.ts";
import { isRefusal } from "./refusals.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";
import type { Watchers } from "./watchers.ts";

/** What executes dispatches of one tenant. */
export interface Executor {
  readonly queue: TenantQueue;
  readonly parts: RunParts;
  readonly holdInit: HoldInit;
  readonly ask: Ask;
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  readonly watchers: Watchers;
  readonly unknowns: Unknowns;
}

const fenceOf = ({ dispatchId: id, claimToken }: ClaimedDispatch): Fence => ({ dispatchId: id, claimToken });

/**
 * Brings a claimed dispatch to its end: its run is done or waits, or it is back in the queue, or a dead letter. False: it is left to a node
 * that knows more than this one. Never rejects.
 */
export async function executeDispatch(executor: Executor, claim: Claim, askedAt: number): Promise<boolean> {
  const { dispatch: claimed } = claim;
  try {
    await followPlan(executor, claim, askedAt);
    return true;
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
    return failure.type !== "release";
  }
}

type NothingToDo = Extract<DispatchPlan, { type: "nothing" }>;

/** Somebody changed what waits on the thread before the run had it on record: then it is looked at again. */
const OVERTAKEN: ReadonlySet<string> = new Set(["pending_selection_conflict", "already_consumed"]);

async function followPlan(executor: Executor, { dispatch: claimed, records: found }: Claim, askedAt: number): Promise<void> {
  const { queue, ask } = executor;
  const isLost: PlanScene["isLost"] = (task) => executor.parts.tasks.isLost(task);
  if (AwakenError.is(found)) throw found;
  for (let tries = 1, records = found; ; tries++, records = await lookAgain(claimed, queue, ask)) {
    const plan = await planDispatch({ tenant: queue, ask, claimed, records, askedAt, isLost });
    try {
      if (plan.type === "run") await runOrder(executor, plan.order, plan.opening, plan.isCancelled);
      else if (plan.type === "nothing") await settleNothing(executor, claimed, plan);
      else if (plan.type === "taken-back") await endUnbegun(executor, claimed, plan.run);
      else if (plan.type === "too-late") await moveMessages(executor, claimed, plan.messages);
      else if (plan.type === "for-another") await passOn(executor, claimed, plan.runId);
      else if (plan.type === "behind") await giveWay(executor, claimed, plan.first);
      else if (plan.type === "blocked") await ask("put a dispatch back", queue.dispatches.release(fenceOf(claimed), BLOCKED_MS));
      else if (plan.type === "void-barrier") {
        await voidBarrier(executor, plan.barrier);
        continue;
      } else await settleFailure(executor, claimed, { type: "dead-letter", error: plan.error });
      return;
    } catch (thrown) {
      if (!AwakenError.is(thrown) || !OVERTAKEN.has(thrown.code) || tries === MAX_COMMIT_ATTEMPTS) throw thrown;
    }
  }
}

async function settleNothing({ queue, ask }: Executor, claimed: ClaimedDispatch, { run, result }: NothingToDo): Promise<void> {
  const outbound = lateWake(claimed, run);
  const { threadId, runId: id } = claimed;
  const settling =
    outbound.length === 0
      ? queue.dispatches.ack(fenceOf(claimed))
      : queue.commit({ threadId, runId: id, outbound, fence: fenceOf(claimed), dispatch: { type: "ack", result } });
  await ask<unknown>("settle a dispatch", settling);
}

async function endUnbegun({ queue, ask, clock, watchers }: Executor, claimed: ClaimedDispatch, run: RunRecord): Promise<void> {
  const ended = endRecord(run, { type: "cancelled" }, clock.now());
  const dispatch = { type: "ack", result: { type: "done", termination: { type: "cancelled" } } } as const;
  await ask("end a run", queue.commit({ ...ended, fence: fenceOf(claimed), dispatch }));
  watchers.ended(ended.run);
}

/** How long a run waits until it is looked at again whether what is in front of its messages has gone. */
const BLOCKED_MS = 5_000;

/** Whoever edits or retracts it at this moment is looked at again too. */
async function voidBarrier({ queue, ask }: Executor, { threadId, pendingId, revision }: PendingRecord): Promise<void> {
  try {
    await ask("edit a message", queue.pending.update(threadId, pendingId, { revision, deliveryMode: { barrier: false } }));
  } catch (thrown) {
    if (!AwakenError.is(thrown) || !MOVED.has(thrown.code)) throw thrown;
  }
}

const MOVED: ReadonlySet<string> = new Set(["version_conflict", "storage_not_found", "already_consumed"]);

/** Puts the dispatch back and executes the one that comes first; while that one is not due, both wait. */
async function giveWay(executor: Executor, claimed: ClaimedDispatch, first: QueuedDispatch): Promise<void> {
  const { queue, ask, holdInit } = executor;
  const { consumer, leaseMs } = holdInit;
  const untilDue = Math.max(0, first.availableAt - (claimed.leaseUntil - leaseMs));
  await ask("put a dispatch back", queue.dispatches.release(fenceOf(claimed), untilDue));
  if (untilDue > 0) return;
  const askedAt = executor.clock.now();
  const next = await ask("claim a dispatch", queue.dispatches.claimDispatch(first.dispatchId, { consumer, leaseMs }));
  if (next !== undefined) await executeDispatch(executor, next, askedAt);
}

/** Another run of the thread is woken in the place of this one. */
async function passOn({ queue, ask, ids }: Executor, claimed: ClaimedDispatch, next: RunId): Promise<void> {
  const { threadId, maxAttempts, priority } = claimed;
  await ask(
    "wake another run",
    queue.transaction(async ({ dispatches }) => {
      await dispatches.ack(fenceOf(claimed));
      await dispatches.enqueue({ dispatchId: dispatchId(ids()), threadId, runId: next, maxAttempts, priority });
    }),
  );
}

/** Messages for a run that ended before it read them are for a run of their own. */
async function moveMessages({ queue, ask, ids }: Executor, claimed: ClaimedDispatch, messages: readonly PendingRecord[]): Promise<void> {
  const { threadId, maxAttempts, priority } = claimed;
  const id = runId(ids());
  await ask(
    "move messages to a new run",
    queue.transaction(async ({ dispatches, pending }) => {
      await dispatches.ack(fenceOf(claimed));
      for (const { pendingId, revision } of messages) {
        await pending.update(threadId, pendingId, { revision, deliveryMode: { boundary: "new-run", targetRunId: id } });
      }
      await dispatches.enqueue({ dispatchId: dispatchId(id), threadId, runId: id, maxAttempts, priority });
    }),
  );
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

/** What becomes of a dispatch whose run is not over. On its last try it is a dead letter, and the run ends with it. */
export async function settleFailure(executor: Executor, claimed: ClaimedDispatch, failure: Failure): Promise<void> {
  const { queue, ask, clock, watchers } = executor;
  const fence = fenceOf(claimed);
  switch (failure.type) {
    case "lost":
      return;
    case "hand-over":
      await ask("put a dispatch back", queue.dispatches.release(fence));
      return;
    case "retry": {
      const { error, minDelayMs = 0 } = failure;
      if (claimed.attemptCount + 1 >= claimed.maxAttempts) return buryDispatch(executor, claimed, error);
      const delayMs = Math.max(retryDelayMs(claimed.attemptCount), minDelayMs);
      await ask("put a dispatch back", queue.dispatches.nack(fence, { error, delayMs }));
      watchers.failed(Math.max(0, clock.now() - claimed.updatedAt));
      return;
    }
    case "release":
      if (executor.unknowns.triedFor(claimed.dispatchId, clock.now()) > UNKNOWN_AGENT_MS)
        return buryDispatch(executor, claimed, failure.error);
      await ask("put a dispatch back", queue.dispatches.release(fence, UNKNOWN_AGENT_DELAY_MS));
      return;
    case "dead-letter":
      return buryDispatch(executor, claimed, failure.error);
  }
}

/** The dead letter and the end of its run are one commit. A run that cannot be read cannot be ended, here or in the next try. */
async function buryDispatch({ queue, ask, clock, watchers }: Executor, claimed: ClaimedDispatch, error: string): Promise<void> {
  const run = await ask("load a run", queue.runs.load(claimed.runId)).catch((thrown: unknown) => {
    if (!isUnreadable(thrown)) throw thrown;
    return "unreadable" as const;
  });
  if (run === "unreadable") {
    await ask("bury a dispatch", queue.dispatches.deadLetter(fenceOf(claimed), error));
    return;
  }
  const { threadId, runId: id } = claimed;
  const ended = isOpen(run) ? endRecord(run, { type: "error", code: "dead_letter", message: error }, clock.now()) : undefined;
  const last = ended ?? { threadId, runId: id };
  await ask("bury a dispatch", queue.commit({ ...last, fence: fenceOf(claimed), dispatch: { type: "dead-letter", error } }));
  watchers.ended(ended?.run);
}

const isOpen = (run: RunRecord | undefined): run is RunRecord => run !== undefined && run.status !== "done";

import type { DispatchId, Message, RunId, RunRecord, TaskRecord } from "@awaken/contract";
import {
  type Boundary,
  type ClaimedDispatch,
  type ClaimedRecords,
  compareDispatches,
  type DispatchResult,
  inputModeOf,
  type PendingConsumption,
  type PendingRecord,
  type QueuedDispatch,
  selectPending,
  type WishRecord,
} from "@awaken/contract/store";
import { endOrder, resumeOrder } from "../loop/resume-order.ts";
import type { RunOrder } from "../loop/run-order.ts";
import { isNews } from "../loop/task-news.ts";
import { isOrphan } from "../run/called-run.ts";
import { hasTicket } from "../run/known-tickets.ts";
import { isRunning } from "../state/background-tasks.ts";
import { storedTasks } from "../state/task-records.ts";
import { isAbandoned } from "./abandoned.ts";
import type { Opening } from "./hold.ts";
import { batchesOf, toAddressed } from "./open-wishes.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";

/** What is to be done for a dispatch that was claimed. */
export type DispatchPlan =
  | {
      readonly type: "run";
      readonly order: RunOrder;
      readonly opening: Opening;
      /** It is taken up only to be ended. */
      readonly isCancelled: boolean;
    }
  | { readonly type: "nothing"; readonly run: RunRecord | undefined; readonly result: DispatchResult }
  /** All that it was to answer was taken back: it ends without having begun, and nothing of its thread is touched. */
  | {
      readonly type: "taken-back";
      readonly run: RunRecord;
      /** Another one, which waits there, and looks whether it can go on. */
      readonly next: RunId | undefined;
    }
  /** The run is over, and these messages were for it: another one answers them. */
  | { readonly type: "too-late"; readonly messages: readonly PendingRecord[] }
  /** The thread was deleted, and these are news for it: nobody reads them any more. */
  | { readonly type: "for-nobody"; readonly messages: readonly PendingRecord[] }
  /** The run is over, and another one of the thread waits for what this is about; undefined: a new one has messages to read. */
  | { readonly type: "for-another"; readonly run: RunRecord | undefined; readonly runId: RunId | undefined }
  /** Another run of the thread has begun and is not over, was tried before, or had to wait for one of these: what is queued for it comes first. */
  | { readonly type: "behind"; readonly first: QueuedDispatch; readonly isReady: boolean }
  /** What waits in front is for a run that may still come: it is tried again later. */
  | { readonly type: "blocked" }
  /** The run that nothing may overtake this for is over: it does not hold anybody back any more. */
  | { readonly type: "void-barrier"; readonly barrier: PendingRecord }
  /** What these are for is over, and nobody else reads them: they stand in front of a barrier, which lets nothing pass before them. */
  | { readonly type: "void-front"; readonly messages: readonly PendingRecord[] }
  | { readonly type: "dead-letter"; readonly error: string };

export interface PlanScene {
  readonly tenant: TenantQueue;
  readonly ask: Ask;
  readonly claimed: ClaimedDispatch;
  /** What is on record of the thread. */
  readonly records: ClaimedRecords;
  /** When the claim was asked for, by this process' clock. */
  readonly askedAt: number;
  /** Whether a task that is code is known to have ended with its process. */
  isLost(task: TaskRecord): boolean;
  /** Whether this process is known not to know what a dispatch is for. */
  isUnknown(id: DispatchId): boolean;
}

const NO_WISHES: readonly WishRecord[] = Object.freeze([]);
const NO_MESSAGES: readonly Message[] = Object.freeze([]);
const NO_PENDING: readonly PendingRecord[] = Object.freeze([]);

/** What a dispatch was claimed with. Somebody may have changed what waits on the thread since: then it is read once more. */
export async function lookAgain({ runId, threadId }: ClaimedDispatch, tenant: TenantQueue, ask: Ask): Promise<ClaimedRecords> {
  const [run, head, { entries }, wishes, rows] = await Promise.all([
    ask("load a run", tenant.runs.load(runId)),
    ask("load a thread", tenant.threads.loadHead(threadId)),
    ask("load pending messages", tenant.pending.load(threadId)),
    ask("list wishes", tenant.wishes.listOpen(runId)),
    ask("list dispatches", tenant.dispatches.list(threadId, { statuses: ["queued"] })),
  ]);
  return { run, head, pending: entries, wishes, queued: rows.flatMap((row) => (row.status === "queued" ? [row] : [])) };
}

/**
 * By the record of its run, what others want of it, and the messages that wait for it. Nobody else takes the thread meanwhile, and the
 * first commit finds out whether messages have changed since.
 */
export async function planDispatch(scene: PlanScene): Promise<DispatchPlan> {
  const { tenant, ask, claimed, askedAt, records } = scene;
  const { run, pending, wishes } = records;
  if (run === undefined || run.status === "created") return planNew(scene, run);
  const entering = selectPending(pending, "resume-input", claimed.runId);
  if (run.status === "done") {
    if (entering.length > 0) return { type: "too-late", messages: entering };
    const next = otherAwaiting(scene, run.runId);
    if (next !== undefined || isLeftAlone(scene)) return { type: "for-another", run, runId: next };
    return { type: "nothing", run, result: { type: "done", termination: run.outcome.termination } };
  }
  const isUnwanted = isAbandoned(claimed) || wishes.some(({ type }) => type === "cancel");
  if (isUnwanted || (await isOrphan(run, (id) => ask("load a run", tenant.runs.load(id))))) {
    return {
      type: "run",
      order: { ...endOrder(run), found: records },
      opening: { claimed, askedAt, wishes, consume: undefined },
      isCancelled: true,
    };
  }
  if (run.status === "running") {
    const known = knownOf(run, wishes);
    const order = { ...resumeOrder(run, known.map(toAddressed)), found: records };
    return { type: "run", order, opening: { claimed, askedAt, wishes: known, consume: undefined }, isCancelled: false };
  }
  const decisions = batchesOf(wishes).flat().map(toAddressed);
  const isAsked = decisions.length > 0 || entering.length > 0;
  const isDue = isAsked || (run.waiting.reason === "awaiting-tasks" ? hasNews(scene) : run.waiting.tickets.length === 0);
  if (!isDue) return { type: "nothing", run, result: { type: "waiting", termination: { type: "suspended" } } };
  const order = { ...withInput(resumeOrder(run, decisions), entering), found: records };
  return {
    type: "run",
    order,
    opening: { claimed, askedAt, wishes, consume: consumptionOf("resume-input", entering) },
    isCancelled: false,
  };
}

/** Whether there is something to read of the tasks that a run waits for. */
function hasNews({ claimed, records: { pending, head }, isLost }: PlanScene): boolean {
  if (selectPending(pending, "next-step", claimed.runId).length > 0) return true;
  return storedTasks(head?.state).some((task) => isRunning(task) && isLost(task));
}

/** News that a run was to be woken for, which is over, may be what another run of the thread waits for. */
function otherAwaiting(scene: PlanScene, runId: RunId): RunId | undefined {
  const other = scene.records.head?.openRun;
  if (other === undefined || other.runId === runId) return undefined;
  if (other.status !== "waiting" || other.waiting.reason !== "awaiting-tasks") return undefined;
  return hasNews(scene) ? other.runId : undefined;
}

/**
 * News are for the run that waits on the thread: another one that began with them alone would wait for the same calls. What was sent behind
 * its tickets does not close them.
 */
function isForWaiting({ claimed, records: { head } }: PlanScene, entering: readonly PendingRecord[]): boolean {
  const other = head?.openRun;
  if (other?.status !== "waiting" || other.runId === claimed.runId) return false;
  return entering.every((entry) => isNews(entry) || entry.deliveryMode.targetRunId === other.runId);
}

/** Somebody sent what a run would read, and none was queued for it, because this was. */
function isLeftAlone({ claimed, records: { pending, queued, head } }: PlanScene): boolean {
  const status = head?.openRun?.status;
  if (queued.length > 0 || status === "running" || status === "waiting") return false;
  return selectPending(pending, "new-run", claimed.runId).some((entry) => !isNews(entry));
}

/** What this was to come instead of: whoever was to wake it may have been voided then. */
function otherWaiting({ claimed, records: { head, queued } }: PlanScene): RunId | undefined {
  const other = head?.openRun;
  if (other?.status !== "waiting" || other.runId === claimed.runId || queued.length > 0) return undefined;
  return other.waiting.reason !== "awaiting-tasks" && other.waiting.tickets.length === 0 ? other.runId : undefined;
}

/** The run that was put down for later, or one that nobody put down: then it answers the messages that wait. */
async function planNew(scene: PlanScene, run: RunRecord | undefined): Promise<DispatchPlan> {
  const { claimed, askedAt, records } = scene;
  const { pending: entries } = records;
  const { threadId, runId } = claimed;
  const before = await standsBefore(scene);
  if (before !== undefined) return before;
  // Sent to this very run, which waited here and was deleted with its thread.
  const resuming = run === undefined ? selectPending(entries, "resume-input", runId) : NO_PENDING;
  const late = resuming.filter(({ deliveryMode }) => deliveryMode.targetRunId === runId);
  if (late.length > 0) return { type: "too-late", messages: late };
  const entering = selectPending(entries, "new-run", runId);
  if (entering.length === 0 && entries.length > 0) {
    const blocked = await planBlocked(scene);
    if (blocked.type !== "blocked" || hasOwn(entries, runId)) return blocked;
  }
  if (records.head === undefined && entering.length > 0 && entering.every(isNews)) return { type: "for-nobody", messages: entering };
  // The messages that it was for are read or retracted.
  const isAlone = entering.length === 0 || isForWaiting(scene, entering);
  const isLeft = isAlone && (run === undefined || run.input.triggerMessageIds.length === 0);
  const next = isLeft ? (otherAwaiting(scene, runId) ?? otherWaiting(scene)) : undefined;
  if (isLeft && run !== undefined) return { type: "taken-back", run, next };
  if (next !== undefined) return { type: "for-another", run, runId: next };
  if (isLeft && (claimed.dedupeKey !== undefined || entering.length > 0)) {
    return { type: "nothing", run, result: { type: "failed", error: "nothing was left to answer" } };
  }
  if (isLeft) return { type: "dead-letter", error: `run '${runId}' has no record, and no message waits for it` };
  const base: RunOrder = {
    threadId,
    intent: { type: "new", runId, created: run },
    agentId: run?.agentId,
    input: NO_MESSAGES,
    namedMessages: [],
    trace: { runMode: "scheduled" },
    options: {},
    found: records,
  };
  const opening = { claimed, askedAt, wishes: NO_WISHES, consume: consumptionOf("new-run", entering) };
  return { type: "run", order: withInput(base, entering), opening, isCancelled: false };
}

const hasOwn = (entries: readonly PendingRecord[], runId: RunId): boolean =>
  entries.some(({ deliveryMode }) => deliveryMode.targetRunId === runId);

/** A barrier keeps the run from its messages: it is for another run, or stands behind what is. */
async function planBlocked(scene: PlanScene): Promise<DispatchPlan> {
  const { pending } = scene.records;
  const at = pending.findIndex(({ deliveryMode }) => deliveryMode.barrier);
  const barrier = pending[at];
  if (barrier === undefined) return { type: "blocked" };
  if (await isVoid(scene, barrier)) return { type: "void-barrier", barrier };
  const messages: PendingRecord[] = [];
  for (const entry of pending.slice(0, at)) if (await isVoid(scene, entry)) messages.push(entry);
  return messages.length > 0 ? { type: "void-front", messages } : { type: "blocked" };
}

/** The run that it is for is over, or was never there. One that is queued comes, and may be promised without a record. */
async function isVoid(
  { tenant, ask, claimed, records }: PlanScene,
  { deliveryMode: { targetRunId: target } }: PendingRecord,
): Promise<boolean> {
  if (target === undefined || target === claimed.runId || records.queued.some(({ runId }) => runId === target)) return false;
  const run = await ask("load a run", tenant.runs.load(target));
  return run === undefined || run.status === "done";
}

/**
 * A run that was cut off, or was decided, may have a dispatch that is younger than those of runs that were queued meanwhile. One that
 * failed before it began, and is not due yet, keeps its place. So does one that was put back for such a run: when that is gone it is ready,
 * whatever its time says.
 */
async function standsBefore(scene: PlanScene): Promise<DispatchPlan | undefined> {
  const { claimed, records } = scene;
  const { queued, head } = records;
  if (queued.length === 0) return undefined;
  const open = head?.openRun;
  const hasBegun = open !== undefined && open.runId !== claimed.runId && open.status !== "created";
  const begun = hasBegun ? queued.find(({ runId }) => runId === open.runId) : undefined;
  if (begun !== undefined) return { type: "behind", first: begun, isReady: false };
  for (const row of queued) {
    if (compareDispatches(row, claimed) > 0) return undefined;
    // What nobody here knows is for others.
    if (scene.isUnknown(row.dispatchId)) continue;
    if (row.attemptCount > 0 && row.isPutBack !== true) return { type: "behind", first: row, isReady: false };
    // One for later has no place before its time, and what is due was passed by on purpose.
    if (row.isPutBack !== true || row.availableAt <= claimed.updatedAt) continue;
    const isStuck = hasOwn(records.pending, row.runId) && selectPending(records.pending, "new-run", row.runId).length === 0;
    if (!isStuck || (await planBlocked(scene)).type !== "blocked") return { type: "behind", first: row, isReady: true };
  }
  return undefined;
}

function withInput(order: RunOrder, entering: readonly PendingRecord[]): RunOrder {
  if (entering.length === 0) return order;
  const inputModes = new Map(entering.map((entry) => [entry.message.id, inputModeOf(entry)]));
  return { ...order, input: entering.map(({ message }) => message), inputModes };
}

function consumptionOf(boundary: Boundary, entering: readonly PendingRecord[]): PendingConsumption | undefined {
  if (entering.length === 0) return undefined;
  return { boundary, entries: entering.map(({ pendingId, revision }) => ({ pendingId, revision })) };
}

/** Of a run that was cut off, decisions about what its record knows. The others may be about calls that it comes to: it finds them open. */
const knownOf = (run: RunRecord, wishes: readonly WishRecord[]) =>
  batchesOf(wishes)
    .filter((batch) => batch.every((wish) => hasTicket(run, toAddressed(wish))))
    .flat();

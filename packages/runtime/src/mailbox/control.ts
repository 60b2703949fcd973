import {
  AwakenError,
  dispatchId,
  errorMessage,
  type RunId,
  type RunRecord,
  runId,
  type ThreadId,
  type TicketId,
  threadId,
  ticketId,
} from "@awaken/contract";
import type { DispatchRecord, NewWish, QueuedDispatch, WishRecord } from "@awaken/contract/store";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import { endOrder } from "../loop/resume-order.ts";
import { isNews } from "../loop/task-news.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import { beginRun } from "../run/begin-run.ts";
import { RunBell } from "../run/run-bell.ts";
import { within } from "../stream/within.ts";
import { endRecord } from "./end-record.ts";
import { giveHint, inOne } from "./in-one.ts";
import { callUp, lookAfter } from "./left-behind.ts";
import type { Tenant } from "./tenant.ts";

const isTakenElsewhere = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "thread_already_running";

/** The run of this id, and the one that is open on the thread of this id, if they are not the same. */
async function findOpen({ queue, ask }: Tenant, id: string): Promise<readonly RunRecord[]> {
  if (id.trim() === "") return [];
  const byRun = await ask("load a run", queue.runs.load(runId(id)));
  const onThread = (await ask("load a thread", queue.threads.loadHead(threadId(id))))?.openRun;
  const found = [byRun, onThread?.runId === byRun?.runId ? undefined : onThread];
  return found.flatMap((run) => (run === undefined || run.status === "done" ? [] : [run]));
}

/** Queued dispatches of the thread, the next one first. */
async function queuedOn({ queue, ask }: Tenant, thread: ThreadId): Promise<readonly QueuedDispatch[]> {
  const rows = await ask("list dispatches", queue.dispatches.list(thread, { statuses: ["queued"] }));
  return rows.flatMap((row) => (row.status === "queued" ? [row] : []));
}

/** A run that nobody has begun: it is taken out of the queue with its messages, and its record says that it was cancelled. */
async function cancelQueued(tenant: Tenant, run: RunRecord): Promise<boolean> {
  const { clock } = tenant;
  const dispatch = (await queuedOn(tenant, run.threadId)).find((row) => row.runId === run.runId);
  if (dispatch === undefined) return false;
  const ended = endRecord(run, { type: "cancelled" }, clock.now());
  const isCancelled = await inOne(tenant, "cancel a run", async (ports) => {
    if ((await ports.dispatches.cancel(dispatch.dispatchId)) === undefined) return false;
    const { entries } = await ports.pending.load(run.threadId);
    for (const { pendingId, revision, deliveryMode } of entries) {
      if (deliveryMode.targetRunId === run.runId && !deliveryMode.fallbackToNewRun)
        await ports.pending.retract(run.threadId, pendingId, revision);
    }
    await ports.commit(ended);
    await lookAfter(tenant, ports, run.threadId);
    await callUp(tenant, ports, run.threadId, run.runId);
    return true;
  });
  if (isCancelled) tenant.watchers.ended(ended.run);
  return isCancelled;
}

/**
 * What a thread would do next, where nobody has begun anything: the same run as if a worker had been quicker. Messages that were sent, and
 * have no run yet, are taken back.
 */
async function cancelNext(tenant: Tenant, thread: ThreadId): Promise<RunId | undefined> {
  const [next] = await queuedOn(tenant, thread);
  if (next === undefined) return undefined;
  const run = await tenant.ask("load a run", tenant.queue.runs.load(next.runId));
  if (run !== undefined) return (await cancelRun(tenant, run)) ? run.runId : undefined;
  return (await cancelUnbegun(tenant, next)) ? next.runId : cancelFound(tenant, thread);
}

/** False: somebody has begun with it meanwhile. */
const cancelUnbegun = (tenant: Tenant, { dispatchId: id, threadId: thread, runId: run }: QueuedDispatch): Promise<boolean> =>
  inOne(tenant, "cancel messages", async (ports) => {
    if ((await ports.dispatches.cancel(id)) === undefined) return false;
    const { entries } = await ports.pending.load(thread);
    for (const { pendingId, revision, deliveryMode } of entries.filter((entry) => !isNews(entry))) {
      const { targetRunId = run } = deliveryMode;
      if (targetRunId === run) await ports.pending.retract(thread, pendingId, revision);
    }
    await lookAfter(tenant, ports, thread);
    await callUp(tenant, ports, thread, run);
    return true;
  });

/** How long a run that was taken up may take until it is on record. */
const BEGIN_MS = 5_000;

/** Of a run that has no record: the dispatch that was promised under this id, or the one that the thread of this id is held by. */
async function findPromised({ queue, ask }: Tenant, id: string): Promise<DispatchRecord | undefined> {
  const own = await ask("load a dispatch", queue.dispatches.load(dispatchId(id)));
  if (own?.runId === id) return own;
  return (await ask("list dispatches", queue.dispatches.list(threadId(id), { statuses: ["claimed"] })))[0];
}

/** A run that was promised to somebody who sent messages, and has no record. Where somebody takes it up just now, it is told when it has one. */
async function cancelPromised(tenant: Tenant, id: string): Promise<RunId | undefined> {
  const { clock, parts, queue, ask } = tenant;
  const found = await findPromised(tenant, id);
  if (found === undefined) return undefined;
  const until = clock.now() + BEGIN_MS;
  using bell = new RunBell(parts.live, found.runId);
  for (;;) {
    const dispatch = await ask("load a dispatch", queue.dispatches.load(found.dispatchId));
    if (dispatch?.status === "queued" && (await cancelUnbegun(tenant, dispatch))) return dispatch.runId;
    const run = await ask("load a run", queue.runs.load(found.runId));
    if (run !== undefined) return (await cancelRun(tenant, run)) ? run.runId : undefined;
    const left = until - clock.now();
    const isOpen = dispatch?.status === "queued" || dispatch?.status === "claimed";
    if (!isOpen || left <= 0 || parts.closing.aborted) return undefined;
    await bell.wait(clock, left, parts.closing);
  }
}

/**
 * Tells a run to stop that is not executed here, by its id or that of its thread. Gives its id; undefined when there is none, or two
 * different ones.
 */
async function cancelFound(tenant: Tenant, id: string): Promise<RunId | undefined> {
  const [run, ...others] = await findOpen(tenant, id);
  if (others.length > 0) return undefined;
  if (run === undefined) return id.trim() === "" ? undefined : ((await cancelNext(tenant, threadId(id))) ?? cancelPromised(tenant, id));
  return (await cancelRun(tenant, run)) ? run.runId : undefined;
}

async function cancelRun(tenant: Tenant, run: RunRecord): Promise<boolean> {
  if (run.status === "done") return false;
  if (run.status === "created" && (await cancelQueued(tenant, run).catch(ifTaken))) return true;
  if (run.status !== "created") {
    try {
      const { run: active, begun } = beginRun(tenant.parts, endOrder(run));
      active.cancel();
      await begun;
      void callUpBehind(tenant, active);
      return true;
    } catch (thrown) {
      if (!isTakenElsewhere(thrown)) throw thrown;
    }
  }
  return wish(tenant, [{ type: "cancel", wishId: tenant.ids(), threadId: run.threadId, runId: run.runId }]).then(() => true, ifOver);
}

/** When it has left. Never rejects: what is not called up begins at its time. */
async function callUpBehind(tenant: Tenant, { released, threadId: thread, runId: id }: ActiveRun): Promise<void> {
  await released;
  if (tenant.parts.closing.aborted || (await queuedOn(tenant, thread).catch(() => [])).length === 0) return;
  await inOne(tenant, "call up dispatches", (ports) => callUp(tenant, ports, thread, id)).catch((thrown: unknown) => {
    tenant.log.warn(`what waits behind a run that was cancelled begins at its time: ${errorMessage(thrown)}`, { runId: id });
  });
}

/** False when there is none. */
export const cancelElsewhere = async (tenant: Tenant, id: string): Promise<boolean> => (await cancelFound(tenant, id)) !== undefined;

/** The same, and waits until it is over, wherever it is executed. False also when that takes longer. */
export async function endElsewhere(tenant: Tenant, id: string, timeoutMs: number): Promise<boolean> {
  const { parts, clock, queue, ask } = tenant;
  const until = clock.now() + timeoutMs;
  const run = await cancelFound(tenant, id);
  if (run === undefined) return false;
  using bell = new RunBell(parts.live, run);
  for (;;) {
    const active = parts.active.byRun(run);
    if (active !== undefined) await within(tenant, active.released, Math.max(0, until - clock.now()), parts.closing);
    const record = await ask("load a run", queue.runs.load(run));
    if (record === undefined || record.status === "done") return true;
    const left = until - clock.now();
    if (left <= 0 || parts.closing.aborted) return false;
    await bell.wait(clock, left, parts.closing);
  }
}

const OVER: ReadonlySet<string> = new Set(["illegal_transition", "run_not_found"]);

/** It has ended, or was deleted, meanwhile: there is none to be told. */
function ifOver(thrown: unknown): false {
  if (AwakenError.is(thrown) && OVER.has(thrown.code)) return false;
  throw thrown;
}

/** Somebody has begun with it meanwhile. */
function ifTaken(thrown: unknown): false {
  if (AwakenError.is(thrown) && (thrown.code === "fence_lost" || thrown.code === "version_conflict")) return false;
  throw thrown;
}

/** One that is over needs no word. */
export const cancelByWish = async (tenant: Tenant, run: Pick<RunRecord, "runId" | "threadId">): Promise<void> => {
  const { threadId: thread, runId: id } = run;
  await wish(tenant, [{ type: "cancel", wishId: `cancel:${id}`, threadId: thread, runId: id }]).catch(ifOver);
};

/** A run that nobody waits for: one that waits has a dispatch that ends it. Never rejects. */
export async function stopAbandoned(tenant: Tenant, id: RunId): Promise<void> {
  const { parts, queue, ask, log } = tenant;
  try {
    parts.active.byRun(id)?.cancel();
    const run = await ask("load a run", queue.runs.load(id));
    if (run?.status === "running") await cancelByWish(tenant, run);
  } catch (thrown) {
    log.warn(`a run could not be told to stop, and goes on until it waits: ${errorMessage(thrown)}`, { runId: id });
  }
}

/** Rows first, all or none, then the hint: the owner follows them at its next boundary, also when the hint is lost. */
export async function wish(tenant: Tenant, wishes: readonly NewWish[]): Promise<readonly WishRecord[]> {
  const rows = await inOne(tenant, "put a wish on record", async (ports) => {
    const appended: WishRecord[] = [];
    for (const each of wishes) appended.push((await ports.wishes.append(each, { resume: true })).wish);
    return appended;
  });
  const [first] = wishes;
  if (first === undefined) return rows;
  const { threadId: thread, runId: run } = first;
  await giveHint(tenant, { type: first.type === "cancel" ? "cancel" : "wake", threadId: thread, runId: run });
  return rows;
}

const ticketOf = (run: RunRecord, { target, isCall }: AddressedDecision): TicketId => {
  const open = run.status === "running" ? (run.tickets ?? []) : run.status === "waiting" ? run.waiting.tickets : [];
  return open.find((ticket) => ticket.id === target || (isCall && ticket.toolCallId === target))?.id ?? ticketId(target);
};

/** Decisions about a run that another process executes. */
export async function decideElsewhere(tenant: Tenant, run: RunRecord, decisions: readonly AddressedDecision[]): Promise<void> {
  await wish(
    tenant,
    decisionWishes(run, decisions, (each) => ticketOf(run, each)),
  );
}

const decisionWishes = (
  { threadId: thread, runId: id }: { readonly threadId: ThreadId; readonly runId: RunId },
  decisions: readonly AddressedDecision[],
  ticket: (addressed: AddressedDecision) => TicketId,
): readonly NewWish[] => {
  const [first, second] = decisions;
  const together = first === undefined || second === undefined ? undefined : { batchId: first.decision.id };
  return decisions.map((each) => ({
    type: "decision",
    threadId: thread,
    runId: id,
    ticketId: ticket(each),
    decision: each.decision,
    ...together,
  }));
};

const PAST: ReadonlySet<string> = new Set(["run_not_found", "illegal_transition", "ticket_not_found", "ticket_not_open"]);

/** The record knows more: the run has parked or ended. Not that somebody else decided before. */
const isPast = (thrown: unknown): boolean => AwakenError.is(thrown) && PAST.has(thrown.code) && thrown.details["decisionId"] === undefined;

/** Decisions about calls that a run does not know yet. False: it has parked or ended, or never began. */
export async function keepDecisions(
  tenant: Tenant,
  run: Pick<RunRecord, "runId" | "threadId">,
  decisions: readonly AddressedDecision[],
): Promise<boolean> {
  try {
    const wishes = decisionWishes(run, decisions, ({ target }) => ticketId(target));
    const over = (await wish(tenant, wishes)).find(({ takenAt }) => takenAt !== undefined);
    if (over === undefined) return true;
    throw new AwakenError("ticket_not_open", `the decision '${over.wishId}' was made before, and its call did not wait`, {
      details: { decisionId: over.wishId, runId: run.runId },
    });
  } catch (thrown) {
    if (isPast(thrown)) return false;
    throw thrown;
  }
}

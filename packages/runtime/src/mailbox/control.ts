import { AwakenError, type RunRecord, runId, type ThreadId, type TicketId, threadId, ticketId } from "@awaken/contract";
import type { NewWish, QueuedDispatch } from "@awaken/contract/store";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import { endOrder } from "../loop/run-order.ts";
import { beginRun } from "../run/start-run.ts";
import { endRecord } from "./end-record.ts";
import { giveHint, inOne } from "./in-one.ts";
import type { Tenant } from "./tenant.ts";

const isTakenElsewhere = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "thread_already_running";

/** The run of this id, or the one that is open on the thread of this id. Two different ones are none. */
async function findOpen({ queue, ask }: Tenant, id: string): Promise<RunRecord | undefined> {
  if (id.trim() === "") return undefined;
  const byRun = await ask("load a run", queue.runs.load(runId(id)));
  const onThread = (await ask("load a thread", queue.threads.loadHead(threadId(id))))?.openRun;
  const found = [byRun, onThread].filter((run) => run !== undefined && run.status !== "done");
  return found.length > 1 && found[0]?.runId !== found[1]?.runId ? undefined : found[0];
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
  return inOne(tenant, "cancel a run", async (ports) => {
    if ((await ports.dispatches.cancel(dispatch.dispatchId)) === undefined) return false;
    const { entries } = await ports.pending.load(run.threadId);
    for (const { pendingId, revision, deliveryMode } of entries) {
      if (deliveryMode.targetRunId === run.runId && !deliveryMode.fallbackToNewRun)
        await ports.pending.retract(run.threadId, pendingId, revision);
    }
    await ports.commit(endRecord(run, { type: "cancelled" }, clock.now()));
    return true;
  });
}

/** Tells a run to stop that is not executed here. False when there is none. */
export async function cancelElsewhere(tenant: Tenant, id: string): Promise<boolean> {
  const run = await findOpen(tenant, id);
  if (run === undefined) return false;
  if (run.status === "created" && (await cancelQueued(tenant, run).catch(ifTaken))) return true;
  if (run.status !== "created") {
    try {
      const { run: active, begun } = beginRun(tenant.parts, endOrder(run));
      active.cancel();
      await begun;
      return true;
    } catch (thrown) {
      if (!isTakenElsewhere(thrown)) throw thrown;
    }
  }
  return wish(tenant, [{ type: "cancel", wishId: tenant.ids(), threadId: run.threadId, runId: run.runId }]).then(() => true, ifOver);
}

/** It has ended meanwhile: there is none to be told. */
function ifOver(thrown: unknown): false {
  if (AwakenError.is(thrown) && thrown.code === "illegal_transition") return false;
  throw thrown;
}

/** Somebody has begun with it meanwhile. */
function ifTaken(thrown: unknown): false {
  if (AwakenError.is(thrown) && (thrown.code === "fence_lost" || thrown.code === "version_conflict")) return false;
  throw thrown;
}

/** One that is over needs no word. */
export const cancelByWish = async (tenant: Tenant, { threadId: thread, runId: id }: RunRecord): Promise<void> => {
  await wish(tenant, [{ type: "cancel", wishId: `cancel:${id}`, threadId: thread, runId: id }]).catch(ifOver);
};

/** Rows first, all or none, then the hint: the owner follows them at its next boundary, also when the hint is lost. */
export async function wish(tenant: Tenant, wishes: readonly NewWish[]): Promise<void> {
  await inOne(tenant, "put a wish on record", async (ports) => {
    for (const each of wishes) await ports.wishes.append(each, { resume: true });
  });
  const [first] = wishes;
  if (first === undefined) return;
  const { threadId: thread, runId: run } = first;
  await giveHint(tenant, { type: first.type === "cancel" ? "cancel" : "wake", threadId: thread, runId: run });
}

const ticketOf = (run: RunRecord, { target, isCall }: AddressedDecision): TicketId => {
  const open = run.status === "running" ? (run.tickets ?? []) : run.status === "waiting" ? run.waiting.tickets : [];
  return open.find((ticket) => ticket.id === target || (isCall && ticket.toolCallId === target))?.id ?? ticketId(target);
};

/** Decisions about a run that another process executes. */
export function decideElsewhere(tenant: Tenant, run: RunRecord, decisions: readonly AddressedDecision[]): Promise<void> {
  const { threadId: thread, runId: id } = run;
  return wish(
    tenant,
    decisions.map((each) => ({ type: "decision", threadId: thread, runId: id, ticketId: ticketOf(run, each), decision: each.decision })),
  );
}

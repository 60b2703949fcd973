import { AwakenError, type RunId, type ThreadId } from "@awaken/contract";
import type { LeftRun, LoopOutcome } from "../loop/finish.ts";
import type { RunOrder } from "../loop/run-order.ts";
import { cancel } from "../run/control.ts";
import { type BusyStart, begin } from "../run/on-busy.ts";
import { awaitedElsewhere } from "../run/settled.ts";
import type { Told } from "../run/start-request.ts";
import { refuseBarrier } from "./barrier.ts";
import { cancelElsewhere } from "./control.ts";
import { Hold } from "./hold.ts";
import { Interruption } from "./interrupt.ts";
import { startOrder } from "./submit.ts";
import type { Tenant } from "./tenant.ts";

/** Starts a run here when its thread is free, or behind what is queued there. Rejects when it cannot begin. */
export const submitBusy = (tenant: Tenant, start: BusyStart): Promise<LoopOutcome> =>
  start.onBusy === "queue" ? behind(tenant, start) : interrupting(tenant, start);

/** Ends what is at work, and begins in one transaction with what that voids. */
async function interrupting(tenant: Tenant, start: BusyStart): Promise<LoopOutcome> {
  const { parts, holdInit } = tenant;
  const { order } = start;
  await refuseBarrier(tenant, order.threadId);
  const work = (interruption: Interruption) => {
    const hold = new Hold(holdInit, undefined, (ports, at) => interruption.apply(ports, "stay", at));
    return begin(parts, { ...start, order: { ...order, holding: hold } });
  };
  return Interruption.through(tenant, order.threadId, work, order);
}

/** A thread that waits is not busy: it goes on with what is said now. */
async function isBusy({ queue, ask, parts }: Tenant, threadId: ThreadId): Promise<boolean> {
  if (parts.active.onThread(threadId) !== undefined) return true;
  const open = await ask("list dispatches", queue.dispatches.list(threadId, { statuses: ["queued", "claimed"], limit: 1 }));
  return open.length > 0;
}

const isRefused = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "thread_already_running";

/** Behind whatever is at work or queued on the thread. Then it is executed by a worker, here or elsewhere, and followed. */
async function behind(tenant: Tenant, start: BusyStart): Promise<LoopOutcome> {
  const { order, handle, told } = start;
  const { threadId } = order;
  const queue = async () => {
    const own: RunOrder = { ...order, intent: { type: "new", runId: handle.runId } };
    await startOrder(tenant, own, { output: order.options.output, onBusy: "queue" });
    return { order: own };
  };
  const placed = await tenant.inTurn(
    threadId,
    async () => {
      if (await isBusy(tenant, threadId)) return queue();
      // It has the thread of this process now, and its end is not waited for in its turn.
      return { result: (async () => begin(tenant.parts, start))() };
    },
    order.signal,
  );
  if (!("result" in placed)) return ended(tenant, placed.order, handle.runId, told);
  try {
    return await placed.result;
  } catch (thrown) {
    if (!isRefused(thrown)) throw thrown;
  }
  return ended(tenant, (await tenant.inTurn(threadId, queue, order.signal)).order, handle.runId, told);
}

async function ended(tenant: Tenant, order: RunOrder, id: RunId, told: Told): Promise<LoopOutcome> {
  const { parts } = tenant;
  const { signal, checkOutput, threadId } = order;
  const left: LeftRun = { type: "left", runId: id, threadId, failure: undefined };
  const stop = async () => (await cancel(parts, id)) || (await cancelElsewhere(tenant, id));
  const result = await awaitedElsewhere(parts, left, { signal, told }, stop);
  // It may have been answered elsewhere: then the code of the schema has not seen the answer.
  if (result.isOutputAsked && result.status === "done" && result.output !== undefined) await checkOutput?.(result.output);
  return result;
}

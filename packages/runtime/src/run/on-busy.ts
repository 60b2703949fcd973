import { AwakenError, type RunId, runId, type ThreadId } from "@awaken/contract";
import type { LoopOutcome } from "../loop/finish.ts";
import type { RunOrder } from "../loop/run-order.ts";
import { checkOpen } from "../stream/closed.ts";
import type { TenantParts } from "./run-parts.ts";
import type { OnBusy } from "./run-request.ts";
import type { BegunRun, Told } from "./start-request.ts";
import { startRun } from "./start-run.ts";

/** The ids of a run that begins when the thread is free. */
export interface Handle {
  runId: RunId;
  readonly threadId: ThreadId;
}

/** A run that is to begin when its thread is free. */
export interface BusyStart {
  readonly order: RunOrder;
  readonly onBusy: Exclude<OnBusy, "refuse">;
  readonly handle: Handle;
  readonly told: Told;
}

/** Brings it to its end where other processes can get at the thread. */
export type ThroughQueue = (start: BusyStart) => Promise<LoopOutcome>;

/** Starts a run here, at once or when the thread is free, as whoever asks wants it. Throws, or rejects, when it cannot begin. */
export function submit(parts: TenantParts, order: RunOrder, onBusy: OnBusy, told: Told, throughQueue: ThroughQueue | undefined): BegunRun {
  if (onBusy === "refuse") return startRun(parts, order, told);
  checkOpen(parts.closing);
  if (onBusy === "queue" && throughQueue === undefined) {
    throw new AwakenError("capability_mismatch", "onBusy: 'queue' needs a store with a queue: give the runtime one, such as sqliteStore", {
      details: { onBusy },
    });
  }
  const run: Handle = { runId: order.intent.runId ?? runId(parts.ids()), threadId: order.threadId };
  const start: BusyStart = { order: { ...order, newRunId: run.runId }, onBusy, handle: run, told };
  return { run, result: throughQueue === undefined ? instead(parts, start) : throughQueue(start) };
}

/** The run turns out to be one that exists: the handle says which. */
export function begin(parts: TenantParts, { order, handle, told }: BusyStart): Promise<LoopOutcome> {
  const { run, result } = startRun(parts, order, (event) => {
    handle.runId = run.runId;
    told?.push(event);
  });
  return result.then((ended) => {
    handle.runId = ended.runId;
    return ended;
  });
}

/** Ends what is at work, where no other process can come between. */
async function instead(parts: TenantParts, start: BusyStart): Promise<LoopOutcome> {
  const { threadId, signal } = start.order;
  const here = parts.active.onThread(threadId);
  if (here !== undefined) {
    here.cancel("the run was interrupted");
    await parts.more.freed(parts, here, signal);
  }
  return begin(parts, start);
}
